#include <catch2/catch.hpp>

#include "workloads/models/operators.hpp"

using namespace tokenline;
using models::first_sharding_mistake;
using models::load_model;
using models::Parallelism;

TEST_CASE("what a degree does not divide is said with the key to change", "[models]") {
  struct Bad {
    const char* model;
    Parallelism parallelism;
    const char* message;
  };
  const auto bad = GENERATE(values<Bad>({
      {"llama-2-70b",
       {.tensor = 3},
       "tensor_parallel_size 3 does not divide the 64 attention heads"
       " of llama-2-70b"},
      {"llama-2-70b", {.tensor = 0}, "tensor_parallel_size must be at least 1"},
      {"opt-13b",
       {.tensor = 16},
       "tensor_parallel_size 16 does not divide the 40 attention heads"
       " of opt-13b"},
      {"minimax-m2.5",
       {.tensor = 12},
       "tensor_parallel_size 12 and the 8 kv heads of minimax-m2.5"
       " do not divide one another"},
      {"llama-2-7b",
       {.data = 2},
       "attention_data_parallel_size 2: llama-2-7b has no experts to"
       " share, so its groups would be replicas"},
      {"llama-2-7b",
       {.tensor = 2, .expert = 2},
       "expert_parallel_size 2: llama-2-7b has no experts"},
      {"deepseek-v3",
       {.tensor = 8, .expert = 3},
       "expert_parallel_size 3 does not divide the 8 GPUs"
       " of a replica"},
      {"mixtral-8x7b",
       {.tensor = 8, .data = 2, .expert = 16},
       "expert_parallel_size 16 does not divide the 8 experts of mixtral-8x7b"},
      {"deepseek-v2-lite",
       {.data = 3, .expert = 1},
       "expert_parallel_size 1 leaves 3 GPUs to split an expert of deepseek-v2-lite, which do not"
       " divide its 1408 columns"},
  }));
  const std::string mistake = first_sharding_mistake(load_model(bad.model), bad.parallelism);
  INFO(bad.model);
  CHECK(mistake == bad.message);
}

TEST_CASE("degrees in use for each kind of model have no mistake", "[models]") {
  struct Used {
    const char* model;
    Parallelism parallelism;
  };
  const auto used = GENERATE(values<Used>({{"llama-3.1-70b", {.tensor = 8}},
                                           {"qwen2.5-7b", {.tensor = 4}},
                                           {"qwen3-235b-a22b", {.tensor = 8, .expert = 8}},
                                           {"gpt-oss-120b", {.tensor = 8}},
                                           {"deepseek-v3", {.tensor = 8, .expert = 8}},
                                           {"deepseek-r1", {.data = 16, .expert = 16}},
                                           {"kimi-k2", {.tensor = 4, .data = 4, .expert = 16}},
                                           {"mixtral-8x7b", {.tensor = 2}}}));
  INFO(used.model);
  CHECK(first_sharding_mistake(load_model(used.model), used.parallelism).empty());
}
