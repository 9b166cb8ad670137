#include "tools/vllm/command_line.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/scratch.hpp"
#include "tools/vllm/from_vllm.hpp"
#include "tools/vllm/to_vllm.hpp"

using namespace tokenline;
using namespace tokenline::vllm;
using Words = std::vector<std::string>;

namespace {

CommandLine parsed(const std::string& flags) {
  return parse_command(split_shell("vllm serve m " + flags), serve_flags(), "vllm serve");
}

std::string first(const std::string& flags, std::string_view name) {
  const CommandLine line = parsed(flags);
  const Given* given = line.find(name);
  return given == nullptr ? "absent" : given->values.empty() ? "switch" : given->values.front();
}

}  // namespace

TEST_CASE("a line is split as a POSIX shell splits it", "[vllm]") {
  // IEEE Std 1003.1, 2.2 Quoting.
  CHECK(split_shell("a  b\t c\n") == Words{"a", "b", "c"});
  CHECK(split_shell(R"(a'b c'd "e f" '')") == Words{"ab cd", "e f", ""});
  CHECK(split_shell(R"("a\"b\\c\d\$" 'x\y')") == Words{R"(a"b\c\d$)", R"(x\y)"});
  CHECK(split_shell("a\\ b \\\n c\\\nd") == Words{"a b", "cd"});
  CHECK(split_shell(R"('it'\''s')") == Words{"it's"});
  CHECK_THROWS_WITH(split_shell("a 'b"), Catch::Contains("nothing closes"));
}

TEST_CASE("a quoted line is split into the same words", "[vllm]") {
  const Words words{"a", "", "b c", "it's", R"({"k": [1, "x"]})", "\"", "\\", "$HOME", "a\nb", "*"};
  CHECK(split_shell(shell_line(words)) == words);
}

TEST_CASE("flags are read by the rules of vLLM's parser", "[vllm]") {
  CHECK(first("--max-model-len=5", "max-model-len") == "5");
  CHECK(first("--max_model_len 5", "max-model-len") == "5");
  CHECK(first("--max-model 5", "max-model-len") == "5");
  CHECK(first("-tp 4", "tensor-parallel-size") == "4");
  CHECK(first("-tp=4", "tensor-parallel-size") == "4");
  CHECK(first("-O3", "optimization-level") == "3");
  CHECK(first("--max-model-len -1", "max-model-len") == "-1");
  CHECK(first("-tp 2 -tp 4", "tensor-parallel-size") == "4");
  CHECK(parsed("--enable-prefix-caching").find("enable-prefix-caching")->on);
  CHECK_FALSE(parsed("--no-enable-prefix-caching").find("enable-prefix-caching")->on);
  CHECK_FALSE(parsed("--disable-prefix-caching").find("enable-prefix-caching")->on);
  CHECK(
      parsed("--cudagraph-capture-sizes 1 2 4 --port 1").find("cudagraph-capture-sizes")->values ==
      Words{"1", "2", "4"});
  CHECK(first("--speculative-config.method ngram --speculative_config.a.b 3",
              "speculative-config") == R"({"method":"ngram","a":{"b":3}})");
  CHECK(first("--compilation-config.cudagraph_capture_sizes+ 4", "compilation-config") ==
        R"({"cudagraph_capture_sizes":[4]})");
}

TEST_CASE("human-readable numbers are those of vLLM", "[vllm]") {
  CHECK(human_int("8192") == 8192);
  CHECK(human_int("1k") == 1000);
  CHECK(human_int("1K") == 1024);
  CHECK(human_int("25.6k") == 25'600);
  CHECK(human_int("2M") == 2'097'152);
  for (const char* text : {"1.5K", "k", "", "x", "8KB"}) CHECK_FALSE(human_int(text));
}

TEST_CASE("a configuration file comes before the flags", "[vllm]") {
  const Scratch folder;
  (void)folder.write("c.yaml",
                     "model: meta-llama/Llama-3.1-8B\nport: 1\ntensor-parallel-size: 2\n"
                     "enable-prefix-caching: false\nspeculative-config: {method: ngram}\n"
                     "cudagraph-capture-sizes: [1, 2]\nmax-num-seqs: 9\n");
  const CommandLine line =
      parse_command(Words{"vllm", "serve", "--config", folder / "c.yaml", "-tp", "4"},
                    serve_flags(), "vllm serve");
  CHECK(line.find("model")->values.front() == "meta-llama/Llama-3.1-8B");
  CHECK(line.find("tensor-parallel-size")->values.front() == "4");
  CHECK_FALSE(line.find("enable-prefix-caching")->on);
  CHECK(line.find("speculative-config")->values.front() == R"({"method":"ngram"})");
  CHECK(line.find("cudagraph-capture-sizes")->values == Words{"1", "2"});
  CHECK(line.find("max-num-seqs")->values.front() == "9");
}
