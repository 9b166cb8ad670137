#include "sim/config/diagnostic.hpp"

#include <catch2/catch.hpp>

using namespace tokenline::config;

TEST_CASE("a report has one line per mistake, and one per hint", "[config]") {
  const ConfigError error(std::vector<Diagnostic>{{{"s.yaml", 3, 5}, "engine.x", "wrong", "do y"},
                                                  {{"s.yaml", 4, 1}, "", "also wrong", ""}});
  CHECK(std::string(error.what()) ==
        "s.yaml:3:5: error: engine.x: wrong\n  hint: do y\ns.yaml:4:1: error: also wrong");
}

TEST_CASE("mistakes are sorted by place within a file, and files stay together", "[config]") {
  const ConfigError error(std::vector<Diagnostic>{{{"a", 9, 1}, "", "3", ""},
                                                  {{"b", 1, 1}, "", "4", ""},
                                                  {{"a", 2, 7}, "", "2", ""},
                                                  {{"a", 2, 3}, "", "1", ""}});
  std::string order;
  for (const auto& d : error.diagnostics()) order += d.message;
  CHECK(order == "1234");
}

TEST_CASE("mistakes at the same place stay in the order of their finding", "[config]") {
  const ConfigError error(
      std::vector<Diagnostic>{{{"a", 1, 1}, "", "first", ""}, {{"a", 1, 1}, "", "second", ""}});
  CHECK(error.diagnostics()[0].message == "first");
}

TEST_CASE("a candidate is close within a third of the word's letters, at least one", "[config]") {
  const std::vector<std::string> names{"block_size", "seed", "rate"};
  CHECK(closest("blok_size", names) == "block_size");
  CHECK(closest("blocksize", names) == "block_size");
  CHECK(closest("sed", names) == "seed");               // 1 = max(1, 3 / 3)
  CHECK_FALSE(closest("sd", names));                    // distance 2 > max(1, 2 / 3)
  CHECK(closest("bluck_sise", names) == "block_size");  // 2 <= 10 / 3
  CHECK_FALSE(closest("blxxx_xxze", names));
  CHECK(closest("rate", names) == "rate");
  CHECK_FALSE(closest("rate", {}));
}

TEST_CASE("the closest candidate wins, and the first of equals", "[config]") {
  CHECK(closest("abcdef", std::vector<std::string>{"abcdxx", "abcdex"}) == "abcdex");
  CHECK(closest("abc", std::vector<std::string>{"abd", "abe"}) == "abd");
}

TEST_CASE("a suggestion is the close one, or else the whole choice", "[config]") {
  const std::vector<std::string> names{"paged", "contiguous"};
  CHECK(suggestion("pagd", names) == "did you mean 'paged'?");
  CHECK(suggestion("zzz", names) == "one of: paged, contiguous");
  CHECK(suggestion("zzz", {}).empty());
}
