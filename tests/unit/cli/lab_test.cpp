#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/tool.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

/// What a laboratory prints: a page, and nothing on standard error.
std::string page(const Scratch& scratch, const std::string& arguments) {
  const Ran ran = execute(scratch, "lab " + arguments);
  INFO(arguments << "\n" << ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.err.empty());
  CHECK(std::ranges::count(ran.out, '\n') <= 40);
  return ran.out;
}

}  // namespace

TEST_CASE("the attention laboratory shows errors, counts and formulas", "[cli]") {
  const Scratch scratch;
  const std::string square = page(scratch, "flash-attention");
  CHECK_THAT(square, Contains("256 queries, 256 keys, width 64, 1 head; seed 42"));
  CHECK_THAT(square, Contains("(64 + 2 x 64) x 64 x 2 bytes = 24.00 of 164 KiB"));
  // N² values of S: 4 · 256² + 4 · 256 · 64 values, 2 bytes each.
  CHECK_THAT(square, Contains("0.3277") && Contains("0.6554"));
  CHECK_THAT(square, Contains("merged l = 1.1353 e^(4 - 5) + 1.1353 = 1.5530"));
  const std::string odd = page(scratch,
                               "flash-attention --queries 3 --keys 77 --width 5 --heads 2 --causal "
                               "--block-queries 2 --block-keys 9 --part-keys 10 --seed 1");
  // Of b blocks a side the mask leaves (b + 1) / 2 b: 5 of 8.
  CHECK_THAT(page(scratch, "flash-attention --causal"),
             Contains("hence ratios that are not 1") && Contains("compute 62 % of them here"));
  CHECK_THAT(odd, Contains("2 heads, causal; seed 1") && Contains("parts of 10"));
}

TEST_CASE("the paged laboratory follows block tables and measures waste", "[cli]") {
  const std::string text = page(Scratch(), "paged-kv");
  CHECK_THAT(text, Contains("[0, 1, 3]") && Contains("[4, 5, 6, 7, 2]"));
  CHECK_THAT(text, Contains("bit for bit"));
  CHECK_THAT(text, Contains("8 requests at a time under max_model_len"));
}

TEST_CASE("the batching laboratory counts steps", "[cli]") {
  const Scratch scratch;
  const std::string text = page(scratch, "batching");
  CHECK_THAT(text, Contains("12 + 25 + 37 + 37 tokens: 37 steps"));
  CHECK_THAT(text, Contains("20.71 % fewer steps, 1.261 times"));
  CHECK_THAT(page(scratch, "batching --outputs 5 --batch 1"), Contains("0 % fewer steps"));
}

TEST_CASE("the speculation laboratory samples the target, which its control does not", "[cli]") {
  const Scratch scratch;
  const std::string text = page(scratch, "speculation --tokens 50000");
  CHECK_THAT(text, Contains("(1 - a^(K+1)) / (1 - a) = 3.6893"));
  CHECK_THAT(text, Contains("kept     chi-square"));
  CHECK(text == page(scratch, "speculation --tokens 50000 --seed 42"));
  CHECK(text != page(scratch, "speculation --tokens 50000 --seed 43"));
  CHECK_THAT(page(scratch, "speculation --tokens 1000 --drafts 0"), Contains("accepted"));
}

TEST_CASE("laboratories explain themselves", "[cli]") {
  const Scratch scratch;
  const Ran overview = execute(scratch, "lab --help");
  CHECK(overview.exit_code == 0);
  for (const char* lab : {"flash-attention", "paged-kv", "batching", "speculation"}) {
    CHECK_THAT(overview.out, Contains(lab));
    const Ran help = execute(scratch, std::string("lab ") + lab + " --help");
    CHECK(help.exit_code == 0);
    CHECK_THAT(help.out, Contains("usage: tokenline lab " + std::string(lab)));
  }
}

TEST_CASE("sizes that make no sense are exit code 2", "[cli]") {
  const Scratch scratch;
  const auto refuses = [&](const std::string& arguments, const std::string& message) {
    const Ran ran = execute(scratch, "lab " + arguments);
    INFO(arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(message));
  };
  refuses("", "which laboratory is missing");
  refuses("flash-atention", "did you mean 'flash-attention'?");
  refuses("flash-attention --queries 0", "--queries 0: expected a whole number from 1 to 65536");
  refuses("flash-attention --width 128 --block-keys 512", "more than the 164 KiB of --sram");
  refuses("flash-attention --queries 65536 --width 64", "would take minutes");
  refuses("flash-attention 256", "unexpected argument '256'");
  refuses("paged-kv --max-model-len 400", "requests reach 996 tokens");
  refuses("paged-kv --tokens 1000", "does not fit --tokens 1000");
  refuses("paged-kv --tokens 3000", "at least twice --max-model-len");
  refuses("batching --outputs 3,,4", "expected whole numbers from 1 to");
  refuses("batching --outputs 3,-4", "expected whole numbers from 1 to");
  refuses("speculation --acceptance 1.5", "expected a number above 0, up to 1");
  refuses("speculation --acceptance 0.01", "overlap by");
  refuses("speculation --vocabulary 1", "--vocabulary 1: expected a whole number from 2 to 16");
}
