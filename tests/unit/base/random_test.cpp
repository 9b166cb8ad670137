#include "sim/base/random.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

using namespace tokenline;

namespace {

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32-10 as the paper writes it (Salmon et al., SC'11, section 3.3).
Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

std::vector<std::uint32_t> draw(RandomStream stream, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (auto& word : words) word = stream();
  return words;
}

/// Pearson's statistic of `counts` against equal shares.
double chi_square(const std::vector<int>& counts, int draws) {
  const double expected = static_cast<double>(draws) / static_cast<double>(counts.size());
  double sum = 0.0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

/// Whether a chi-square statistic lies within five standard deviations of its mean: neither far
/// from uniform nor suspiciously even.
bool plausible(double statistic, double degrees) {
  return std::abs(statistic - degrees) < 5.0 * std::sqrt(2.0 * degrees);
}

}  // namespace

TEST_CASE("the reference generator gives Random123's known answers") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream is Philox of (block, id) under the key of its seed and purpose") {
  // Seed 0 leaves the purpose's hash as the key.
  constexpr std::uint64_t purpose = 0x299f31d0a4093822ULL;
  constexpr std::uint64_t id = 0x0370734413198a2eULL;
  RandomStream stream(0, purpose, id);
  for (std::uint32_t block = 0; block < 5; ++block)
    for (const auto word : philox({block, 0, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}))
      CHECK(stream() == word);
}

TEST_CASE("purposes are hashed with FNV-1a") {
  // Test vectors of the FNV authors (isthe.com/chongo/tech/comp/fnv).
  CHECK(RandomStream::hash("") == 0xcbf29ce484222325ULL);
  CHECK(RandomStream::hash("a") == 0xaf63dc4c8601ec8cULL);
  CHECK(RandomStream::hash("foobar") == 0x85944171f73967e8ULL);
}

TEST_CASE("a purpose and its hash name the same stream") {
  CHECK(draw(RandomStream(42, "chat/lengths", 7), 16) ==
        draw(RandomStream(42, RandomStream::hash("chat/lengths"), 7), 16));
}

TEST_CASE("equal keys give equal streams, and any part of the key changes them") {
  const auto stream = draw(RandomStream(42, "chat/lengths", 7), 16);
  CHECK(draw(RandomStream(42, "chat/lengths", 7), 16) == stream);
  CHECK(draw(RandomStream(43, "chat/lengths", 7), 16) != stream);
  CHECK(draw(RandomStream(42, "chat/arrivals", 7), 16) != stream);
  CHECK(draw(RandomStream(42, "chat/lengths", 8), 16) != stream);
}

TEST_CASE("a stream does not depend on how others are used") {
  const auto alone = draw(RandomStream(42, "chat", 1), 64);
  RandomStream stream(42, "chat", 1);
  RandomStream other(42, "chat", 2);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    for (std::size_t j = 0; j < i % 3; ++j) (void)other();
    CHECK(stream() == alone[i]);
  }
}

TEST_CASE("every byte of a stream is uniform") {
  constexpr int draws = 1 << 16;
  for (const unsigned shift : {0U, 8U, 16U, 24U}) {
    std::vector<int> counts(256);
    RandomStream stream(42, "uniformity", shift);
    for (int i = 0; i < draws; ++i) ++counts[(stream() >> shift) & 0xffU];
    CHECK(plausible(chi_square(counts, draws), 255.0));
  }
}

TEST_CASE("streams of neighbouring keys are independent") {
  constexpr int draws = 1 << 16;
  const auto joint = [](RandomStream a, RandomStream b) {
    std::vector<int> counts(256);
    for (int i = 0; i < draws; ++i) ++counts[(a() >> 28U) * 16U + (b() >> 28U)];
    return chi_square(counts, draws);
  };
  CHECK(plausible(joint({42, "chat", 1}, {42, "chat", 2}), 255.0));
  CHECK(plausible(joint({42, "chat", 1}, {43, "chat", 1}), 255.0));
  CHECK(plausible(joint({42, "chat", 1}, {42, "chas", 1}), 255.0));
}

TEST_CASE("the first draw of consecutive requests is uniform") {
  constexpr int draws = 1 << 16;
  std::vector<int> counts(256);
  for (int id = 0; id < draws; ++id)
    ++counts[RandomStream(42, "chat", static_cast<std::uint64_t>(id))() >> 24U];
  CHECK(plausible(chi_square(counts, draws), 255.0));
}

TEST_CASE("a stream is a uniform random bit generator of full 32-bit words") {
  STATIC_REQUIRE(std::uniform_random_bit_generator<RandomStream>);
  STATIC_REQUIRE(RandomStream::min() == 0);
  STATIC_REQUIRE(RandomStream::max() == 0xffffffffU);
}
