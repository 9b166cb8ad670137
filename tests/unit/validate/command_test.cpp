// The command line of `tokenline validate`: files, exit codes, messages.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/config/node.hpp"
#include "sim/report/run_directory.hpp"
#include "tests/support/tool.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

/// Runs `tokenline validate <arguments>` in the scratch folder.
Ran validate(const Scratch& scratch, const std::string& arguments) {
  return execute(scratch, "validate " + arguments);
}

/// A folder with s.csv, two rows of which one can be simulated.
class Folder : public Scratch {
 public:
  Folder() {
    report::write_file(
        *this / "s.csv",
        "model,gpu,engine,engine_version,gemm_dtype,tp,pp,attention_dp,moe_tp,moe_ep,isl,osl,"
        "concurrency,ttft_ms_mean,tpot_ms_mean\n"
        "Qwen/Qwen3-32B,h100_sxm,vllm,0.12.0,,2,1,1,1,1,500,50,4,100,15\n"
        "Qwen/Qwen3-32B,tpu,vllm,0.12.0,,2,1,1,1,1,500,50,4,100,15\n");
  }
};

}  // namespace

TEST_CASE("validate prints one overall line per metric, last", "[validate][cli]") {
  const Folder folder;
  const Ran ran = validate(folder, "silicon s.csv --csv r.csv --json r.json");
  CHECK(ran.exit_code == 0);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Contains("\n     1  GPU 'tpu' is not in the catalog\n"));
  const auto last = ran.out.rfind("\noverall metric=tpot_mean median_ape_pct=");
  REQUIRE(last != std::string::npos);
  CHECK_THAT(ran.out.substr(last), Catch::EndsWith(" rows=1 refused=1\n"));
  CHECK(ran.out.find('\n', last + 1) == ran.out.size() - 1);
  CHECK_THAT(config::read_file(folder / "r.csv"), Contains("\nh100_sxm vllm Qwen/Qwen3-32B"));
  CHECK(nlohmann::json::parse(config::read_file(folder / "r.json"))["rows"].size() == 4);
}

TEST_CASE("two runs of validate print and write the same bytes", "[validate][cli]") {
  const Folder folder;
  const Ran one = validate(folder, "silicon s.csv --csv 1.csv --json 1.json");
  const Ran two = validate(folder, "silicon s.csv --csv 2.csv --json 2.json");
  CHECK(one.out == two.out);
  CHECK(config::read_file(folder / "1.csv") == config::read_file(folder / "2.csv"));
  CHECK(config::read_file(folder / "1.json") == config::read_file(folder / "2.json"));
}

TEST_CASE("a mean error above the ceiling is exit code 1, the report still printed",
          "[validate][cli]") {
  const Folder folder;
  CHECK(validate(folder, "silicon s.csv --max-mean-ape 1000").exit_code == 0);
  const Ran ran = validate(folder, "silicon s.csv --max-mean-ape 0");
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.out, Contains("\noverall metric=ttft_mean ") &&
                          Contains("\nfailed: ttft_mean: mean error ") &&
                          Contains(" % exceeds 0 %\nfailed: tpot_mean: mean error "));
  // Nothing predicted is no error of zero.
  CHECK(validate(folder, "silicon s.csv --where gpu=tpu --max-mean-ape 1000").exit_code == 1);
  CHECK(validate(folder, "silicon s.csv --where gpu=tpu").exit_code == 0);
}

TEST_CASE("mistakes in files and options are exit code 2 with a hint", "[validate][cli]") {
  const Folder folder;
  report::write_file(folder / "bad.csv", "model,gpu\na,b\n");
  const auto refuses = [&](const std::string& arguments, const std::string& message) {
    const Ran ran = validate(folder, arguments);
    INFO(arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(message));
  };
  refuses("", "what to validate is missing");
  refuses("silicn s.csv", "did you mean 'silicon'?");
  refuses("silicon", "FILE.csv is missing");
  refuses("silicon nothing.csv", "nothing.csv:1:1: error");
  refuses("silicon bad.csv", "bad.csv:1:1: error: engine: the header lacks this column");
  refuses("silicon s.csv --where gpus=tpu", "did you mean 'gpu'?");
  refuses("silicon s.csv --where gpu", "expected column=value");
  refuses("silicon s.csv --where gpu=none", "no row is left to compare");
  refuses("silicon s.csv --protocol inferencx", "did you mean 'inferencex'?");
  refuses("silicon s.csv --max-mean-ape few", "expected a number of percent");
  refuses("requests .", "run.json:1:1: error");
  refuses("all --data .", "error");
  refuses("all --data nowhere", "--data 'nowhere': no such folder");
  refuses("all", "the root of the source tree");
  refuses("operators . --gpu h100_smx", "did you mean 'h100_sxm'?");
}

TEST_CASE("every comparison explains itself", "[validate][cli]") {
  const Scratch folder;
  CHECK_THAT(validate(folder, "--help").out, Contains("\n  silicon ") && Contains("\n  all "));
  for (const char* what : {"silicon", "requests", "throughput", "attention", "all"}) {
    const Ran ran = validate(folder, std::string(what) + " --help");
    CHECK(ran.exit_code == 0);
    CHECK_THAT(ran.out, Contains("usage: tokenline validate " + std::string(what)));
  }
}

TEST_CASE("validate writes over none of its inputs, by whatever name", "[validate][cli]") {
  const Folder folder;
  report::write_file(folder / "gpu.yaml", "x");
  shell(folder,
        "mkdir g rr; echo 'm,n,k,latency_us' >g/gemm.csv; echo '1,64,64,3' >>g/gemm.csv; "
        "echo a >rr/requests.csv; ln s.csv hard.csv; ln -s s.csv soft.csv; ln -s g gg; "
        "ln g/gemm.csv kernels.csv");
  const std::string before = config::read_file(folder / "s.csv");
  for (const char* arguments :
       {"silicon s.csv --csv s.csv", "silicon s.csv --json ./s.csv", "silicon s.csv --csv hard.csv",
        "silicon s.csv --csv soft.csv", "silicon soft.csv --csv s.csv",
        "requests rr --csv rr/requests.csv", "requests rr --csv rr/rows.csv",
        "operators g --gpu l4 --json g/gemm.csv", "operators g --gpu l4 --json gg/gemm.csv",
        "operators g --gpu l4 --csv kernels.csv", "operators g --gpu gpu.yaml --csv gpu.yaml"}) {
    const Ran ran = validate(folder, arguments);
    INFO(arguments);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.err, Contains("would overwrite an input"));
  }
  CHECK(config::read_file(folder / "s.csv") == before);
  CHECK(config::read_file(folder / "gpu.yaml") == "x");
  CHECK(validate(folder, "operators g --gpu l4 --csv rows.csv").exit_code == 0);
}

TEST_CASE("two results do not go to one file, and a failed command leaves none",
          "[validate][cli]") {
  const Folder folder;
  CHECK_THAT(validate(folder, "silicon s.csv --csv r --json ./r").err,
             Contains("two results would go to one file"));
  CHECK_THAT(validate(folder, "silicon s.csv --csv ''").err, Contains("has an empty name"));
  const Ran ran = validate(folder, "silicon s.csv --csv r.csv --json nowhere/r.json");
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err, Contains("nowhere/r.json: cannot be written"));
  CHECK_FALSE(std::filesystem::exists(folder / "r.csv"));
  CHECK(validate(folder, "silicon s.csv --csv /dev/null --json /dev/null").exit_code == 0);
}

TEST_CASE("a condition that says nothing is a mistake", "[validate][cli]") {
  const Folder folder;
  for (const char* where : {"''", "gpu=h100_sxm,", "tp"})
    CHECK(validate(folder, std::string("silicon s.csv --where ") + where).exit_code == 2);
  CHECK(validate(folder, "silicon s.csv --where gpu=h100,tp=2").exit_code == 0);
}

TEST_CASE("every help says that a gate is exit code 1", "[validate][cli]") {
  CHECK_THAT(validate(Scratch(), "silicon --help").out,
             Contains("1 an assert, a baseline, --max-mean-ape or a ceiling does not hold"));
}
