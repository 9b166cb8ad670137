// The command line of `tokenline calibrate`: what it refuses, and what it leaves alone.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "sim/config/node.hpp"
#include "tests/support/tool.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

const std::string l4 = config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/datasheets/l4.yaml");

/// A folder with a datasheet l4.yaml and measurements in g/gemm.csv.
class CalibrationFolder : public Scratch {
 public:
  CalibrationFolder() {
    write("l4.yaml", l4);
    std::filesystem::create_directory(*this / "g");
    std::string rows = "m,n,k,latency_us\n";
    for (const char* shape : {"64,64", "64,128", "128,64", "128,128", "256,64", "256,128"})
      for (const char* m : {"1", "16", "256"}) rows += std::string(m) + "," + shape + ",10\n";
    write("g/gemm.csv", rows);
  }
};

constexpr const char* with_all = "calibrate --gpu mine --operators g --datasheet l4.yaml -o ";

/// Calibrates by a datasheet of that text; what it says without the name of the file.
std::string complaint(const std::string& datasheet) {
  const CalibrationFolder folder;
  folder.write("d.yaml", datasheet);
  const Ran ran = execute(folder, "calibrate --gpu mine --datasheet d.yaml -o out.yaml");
  CHECK(ran.exit_code == (ran.err.empty() ? 0 : 2));
  CHECK(std::filesystem::exists(folder / "out.yaml") == ran.err.empty());
  return ran.err;
}

}  // namespace

TEST_CASE("what calibrate writes can be read and run", "[cli]") {
  const CalibrationFolder folder;
  const Ran ran = execute(folder, std::string(with_all) + "out.yaml");
  CHECK(ran.exit_code == 0);
  CHECK(ran.err.empty());
  folder.write("s.yaml",
               "scenario: s\nmodel: llama-3.1-8b\ncluster: {gpu: out.yaml}\n"
               "engine: {max_model_len: 2048}\ntraffic:\n  chat: {arrival: {process: constant, "
               "rate: 1/s}, prompt_tokens: 20, output_tokens: 3, num_prompts: 2}\n");
  CHECK(execute(folder, "run s.yaml").exit_code == 0);
  CHECK_THAT(execute(folder, "describe out.yaml").out,
             Contains("GPU mine\n") && Contains("Fitted to measured") && Contains("gemm"));
  // Servers with that GPU can be compared with.
  folder.write("servers.csv",
               "model,gpu,engine,engine_version,gemm_dtype,tp,pp,attention_dp,moe_tp,moe_ep,isl,"
               "osl,concurrency,ttft_ms_mean,tpot_ms_mean\n"
               "meta-llama/Llama-3.1-8B,out.yaml,vllm,0.12.0,,1,1,1,1,1,500,50,4,100,15\n");
  CHECK_THAT(execute(folder, "validate silicon servers.csv").out, Contains(" rows=1 refused=0\n"));
}

TEST_CASE("a misspelt column that tables may leave out is no silence", "[cli]") {
  const CalibrationFolder folder;
  folder.write("g/decode_attention.csv",
               "kvdtype,head_dim,q_heads,kv_heads,batch,context_len,latency_us\n"
               "fp8,128,32,8,1,1024,20\n");
  const Ran ran = execute(folder, std::string(with_all) + "out.yaml");
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err, Contains("decode_attention.csv:1:1: error: kvdtype: unknown column") &&
                          Contains("did you mean 'kv_dtype'?"));
}

TEST_CASE("the name of an entry is a word that YAML takes as text", "[cli]") {
  const CalibrationFolder folder;
  for (const char* name :
       {"a: b", "", "#x", "[a]", "null", "&a", "\"", "a\nb", "7b", "a/b", "mine.yaml", "NULL"}) {
    const Ran ran = execute(
        folder, "calibrate --gpu '" + std::string(name) + "' --datasheet l4.yaml -o out.yaml");
    INFO(name << ": " << ran.err);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.err, Contains("tokenline: --gpu '" + std::string(name) + "': expected a name"));
    CHECK_FALSE(std::filesystem::exists(folder / "out.yaml"));
  }
  CHECK(execute(folder, "calibrate --gpu H100-SXM --datasheet l4.yaml -o out.yaml").err.empty());
}

TEST_CASE("a datasheet that cannot stand inside an entry is met at its line", "[cli]") {
  CHECK(complaint(l4).empty());
  const auto lines = std::to_string(std::ranges::count(l4, '\n'));
  CHECK_THAT(complaint(l4.substr(0, l4.size() - 1)),
             Contains("d.yaml:" + lines + ":1: error: the last line has no end"));
  CHECK_THAT(complaint("\xef\xbb\xbf" + l4), Contains("d.yaml:1:1: error: a byte order mark"));
  CHECK_THAT(complaint("---\n" + l4), Contains("d.yaml:1:1: error: '---' marks a document"));
  CHECK_THAT(complaint(l4 + "...\n"), Contains("error: '...' marks a document"));
  CHECK_THAT(complaint("{sms: 3}\n"), Contains("d.yaml:1:1: error: keys in braces"));
  std::string indented = "  ";
  for (const char c : l4) indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
  indented.resize(indented.size() - 2);
  CHECK_THAT(complaint(indented), Contains(":3: error: description: keys of a datasheet stand in"));
}

TEST_CASE("calibrate writes over neither datasheet nor measurements, seen through links", "[cli]") {
  const CalibrationFolder folder;
  shell(folder,
        "ln l4.yaml hard.yaml; ln -s l4.yaml soft.yaml; ln g/gemm.csv hard.csv; "
        "ln -s g/gemm.csv soft.csv; ln -s g gg");
  for (const char* output : {"l4.yaml", "hard.yaml", "soft.yaml", "hard.csv", "soft.csv",
                             "g/gemm.csv", "gg/gemm.csv", "gg/new.yaml"}) {
    const Ran ran = execute(folder, std::string(with_all) + output);
    INFO(output);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.err, Contains("would overwrite an input"));
  }
  CHECK(config::read_file(folder / "l4.yaml") == l4);
}

TEST_CASE("a failed calibration leaves the entry that was there", "[cli]") {
  const CalibrationFolder folder;
  folder.write("out.yaml", "old");
  folder.write("g/decode_attention.csv",
               "head_dim,q_heads,kv_heads,batch,context_len,latency_us\n128,8,8,0.3,100,10\n");
  const Ran ran = execute(folder, std::string(with_all) + "out.yaml");
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err,
             Catch::StartsWith("g/decode_attention.csv:2:9: error: batch: expected a whole "
                               "number from 1 to 1000000, got '0.3'"));
  CHECK(config::read_file(folder / "out.yaml") == "old");
  CHECK_THAT(execute(folder, std::string(with_all) + "''").err, Contains("has an empty name"));
  CHECK_THAT(execute(folder, "calibrate --gpu mine --datasheet l4.yaml -o nowhere/x").err,
             Contains("nowhere/x: cannot be written"));
}

TEST_CASE("what cannot be read back is a mistake of what was measured", "[cli]") {
  const CalibrationFolder folder;
  folder.write("out.yaml", "old");
  std::string slow = "kernel,bytes_per_token,tokens,latency_us\n";
  for (const int tokens : {1, 2, 4, 8, 16, 32, 100'000, 200'000})
    slow += "norm,8," + std::to_string(tokens) + "," + std::to_string(1000 * tokens) + "\n";
  folder.write("g/elementwise.csv", slow);
  const Ran ran = execute(folder, std::string(with_all) + "out.yaml");
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err, Catch::StartsWith("g:1:1: error: elementwise.norm.memory_efficiency: ") &&
                          Contains("are times in microseconds?"));
  CHECK(config::read_file(folder / "out.yaml") == "old");
}

TEST_CASE("a byte that is no text is met at its place in a table", "[cli]") {
  const CalibrationFolder folder;
  folder.write("g/gemm.csv", "m,n,k,latency_us,dtype\n1,64,64,3,b\xff\n");
  for (const std::string& command : {std::string(with_all) + "out.yaml",
                                     std::string("validate operators g --gpu l4 --json r")}) {
    const Ran ran = execute(folder, command);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.err, Contains("g/gemm.csv:2:12: error: byte 0xff is not valid UTF-8"));
  }
}
