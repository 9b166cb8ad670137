// Where the GPUs of replicas lie.
#include <catch2/catch.hpp>

#include "hwmodels/network/network.hpp"
#include "hwmodels/network/placement.hpp"

using namespace tokenline;
using namespace tokenline::hw;

TEST_CASE("replicas take GPUs one after the other and do not begin in what is too small for them",
          "[network]") {
  const std::vector<std::int64_t> replicas{2, 4, 4, 2, 1};
  const auto placed = place(replicas, 8);
  CHECK(placed[0] == std::vector{gpu_at(0, 0), gpu_at(0, 1)});
  CHECK(placed[1].front() == gpu_at(0, 2));
  CHECK(placed[2] == std::vector{gpu_at(1, 0), gpu_at(1, 1), gpu_at(1, 2), gpu_at(1, 3)});
  CHECK(placed[3].front() == gpu_at(1, 4));
  CHECK(placed[4] == std::vector{gpu_at(1, 6)});
  CHECK(nodes_of(replicas, 8) == 2);
  CHECK(nodes_of({}, 8) == 0);
}

TEST_CASE("a replica larger than a node fills node after node, each alike", "[network]") {
  const std::vector<std::int64_t> replicas{6, 6, 2};
  const auto placed = place(replicas, 4);
  CHECK(placed[0][3] == gpu_at(0, 3));
  CHECK(placed[0][4] == gpu_at(1, 0));
  for (std::size_t rank = 0; rank < 6; ++rank)
    CHECK(placed[1][rank] == gpu_at(placed[0][rank].node + 2, placed[0][rank].index));
  CHECK(placed[2].front() == gpu_at(3, 2));
  CHECK(nodes_of(replicas, 4) == 4);
}

TEST_CASE("the ranks of a replica are its stages, their attention groups, their tensor ranks",
          "[network]") {
  const std::vector<std::int64_t> replicas{8};
  const std::vector<Vertex> gpus = place(replicas, 8).front();
  const auto groups = [&](std::int64_t stage, models::RankGroup kind) {
    std::vector<std::vector<std::int64_t>> ranks;
    for (const auto& group :
         rank_groups(gpus, {.tensor = 2, .data = 2, .pipeline = 2}, stage, kind)) {
      ranks.emplace_back();
      for (const Vertex& gpu : group) ranks.back().push_back(gpu.index);
    }
    return ranks;
  };
  using Ranks = std::vector<std::vector<std::int64_t>>;
  const auto rings = rank_groups(gpus, {.tensor = 2, .context = 4}, 0, models::RankGroup::context);
  REQUIRE(rings.size() == 2);
  CHECK(rings[1] == std::vector{gpu_at(0, 1), gpu_at(0, 3), gpu_at(0, 5), gpu_at(0, 7)});
  CHECK(groups(1, models::RankGroup::tensor) == Ranks{{4, 5}, {6, 7}});
  CHECK(groups(1, models::RankGroup::data) == Ranks{{4, 6}, {5, 7}});
  CHECK(groups(1, models::RankGroup::stages) == Ranks{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
}
