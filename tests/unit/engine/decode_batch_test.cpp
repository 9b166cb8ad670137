#include "sim/engine/decode_batch.hpp"

#include <catch2/catch.hpp>

using namespace tokenline;

namespace {

constexpr std::int64_t block = 4;

SequenceId add(SequenceStore& store, std::int64_t stored, std::int64_t output) {
  const SequenceId id = store.create();
  store[id].stored = stored;
  store[id].prefill_tokens = stored;
  store[id].generated = 1;
  store[id].output_tokens = output;
  store[id].order = id;
  return id;
}

}  // namespace

TEST_CASE("the aggregates equal the sums over sequences that advance one token a step", "[batch]") {
  SequenceStore store;
  DecodeBatch batch(store, block, 100);
  struct Shadow {
    SequenceId id;
    std::int64_t stored;
  };
  std::vector<Shadow> all;
  for (std::int64_t step = 0; step < 40; ++step) {
    const SequenceId id = add(store, 3 + 7 * step % 11, 50);
    batch.join(id);
    all.push_back({id, store[id].stored});
    std::int64_t stored = 0;
    std::int64_t growth = 0;
    for (const Shadow& s : all) {
      stored += s.stored;
      growth += s.stored % block == 0 ? 1 : 0;
      CHECK(batch.stored(s.id) == s.stored);
      CHECK(batch.growth(s.id, 1) == (s.stored % block == 0 ? 1 : 0));
    }
    CHECK(batch.size() == static_cast<std::int64_t>(all.size()));
    CHECK(batch.stored() == stored);
    CHECK(batch.growth(1) == growth);
    batch.advance();
    for (Shadow& s : all) ++s.stored;
  }
}

TEST_CASE("a sequence finishes when it has generated all its tokens, in order of admission",
          "[batch]") {
  SequenceStore store;
  DecodeBatch batch(store, block, 8);
  const SequenceId late = add(store, 5, 3);
  const SequenceId early = add(store, 9, 4);
  store[late].order = 7;
  store[early].order = 2;
  batch.join(early);  // one token out of four is there: three steps to go
  batch.advance();
  CHECK(batch.finished().empty());
  batch.join(late);  // one out of three: two steps to go
  batch.advance();
  CHECK(batch.finished().empty());
  batch.advance();
  CHECK(batch.finished() == std::vector<SequenceId>{early, late});
  batch.leave(early);
  CHECK(store[early].generated == 4);
  CHECK(store[early].stored == 9 + 3);
  batch.leave(late);
  CHECK(batch.size() == 0);
  CHECK(batch.stored() == 0);
  CHECK(batch.growth(1) == 0);
}

TEST_CASE("a sequence that leaves early is as far as the steps it took part in", "[batch]") {
  SequenceStore store;
  DecodeBatch batch(store, block, 64);
  const SequenceId id = add(store, 10, 60);
  batch.join(id);
  for (int i = 0; i < 5; ++i) batch.advance();
  batch.leave(id);
  CHECK(store[id].stored == 15);
  CHECK(store[id].generated == 6);
  for (int i = 0; i < 80; ++i) {
    batch.advance();
    CHECK(batch.finished().empty());
  }
}
