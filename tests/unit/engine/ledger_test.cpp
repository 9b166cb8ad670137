#include "sim/engine/ledger.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace tokenline;

TEST_CASE("every part of the ledger has a name of its own", "[ledger]") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < part_count; ++i) names.emplace(name(static_cast<Part>(i)));
  CHECK(names.size() == part_count);
  CHECK(name(Part::wait_step) == "wait_step");
  CHECK(name(Part::restart) == "restart");
  CHECK(name(Part::decode_stalled) == "decode_stalled");
}

TEST_CASE("the parts up to the first token come first", "[ledger]") {
  Parts parts;
  for (std::size_t i = 0; i < part_count; ++i)
    parts[static_cast<Part>(i)] = Duration(std::int64_t{1} << i);
  CHECK(parts.sum().count() == (1 << part_count) - 1);
  CHECK(TtftParts(parts).sum().count() == (1 << ttft_part_count) - 1);
  CHECK(TtftParts(parts)[Part::restart] == parts[Part::restart]);
}
