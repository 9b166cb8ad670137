#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <vector>

#include "calib/reference/kv_occupancy.hpp"
#include "calib/reference/paged_attention.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"
#include "sim/base/random.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/text_table.hpp"
#include "tools/cli/lab.hpp"

namespace tokenline::cli {
namespace {

using reference::KvLayout;
using report::figure_text;

struct PagedExperiment {
  std::int64_t places = 0;
  std::int64_t block_size = 0;
  std::int64_t longest = 0;
  std::int64_t requests = 0;
  std::int64_t prompt_mean = 0;
  std::int64_t output_mean = 0;
  std::uint64_t seed = 0;
};

PagedExperiment paged_experiment(const Arguments& arguments) {
  PagedExperiment e;
  e.places = arguments.integer("tokens", 16'384, 1, 1'000'000);
  e.block_size = arguments.integer("block-size", 16, 1, 65'536);
  e.longest = arguments.integer("max-model-len", 2048, 2, 1'000'000);
  e.requests = arguments.integer("requests", 500, 1, 10'000);
  e.prompt_mean = arguments.integer("prompt-mean", 161, 1, 100'000);
  e.output_mean = arguments.integer("output-mean", 338, 1, 100'000);
  e.seed = seed_of(arguments);
  if (const std::int64_t most = 2 * (e.prompt_mean + e.output_mean) - 2; most > e.longest)
    throw UsageError(
        fmt::format("requests reach {} tokens, more than --max-model-len {}", most, e.longest));
  if (e.longest > e.places / e.block_size * e.block_size)
    throw UsageError(fmt::format("a request of --max-model-len {} does not fit --tokens {}",
                                 e.longest, e.places));
  // A power of two that holds the longest request.
  if (2 * e.longest > e.places)
    throw UsageError(fmt::format("--tokens {}: expected at least twice --max-model-len", e.places));
  return e;
}

std::string table_of(const reference::PagedPool& pool, std::int64_t request) {
  const auto table = pool.table(request);
  return table.empty() ? "" : fmt::format("[{}]", fmt::join(table, ", "));
}

/// Two requests in eight blocks of four tokens, and attention through their tables.
class WorkedExample {
 public:
  explicit WorkedExample(std::uint64_t seed)
      : cache_(8, 4, width),
        keys_(reference::random_matrix(tokens, width, 1.0, seed, 0)),
        values_(reference::random_matrix(tokens, width, 1.0, seed, 1)),
        query_(reference::random_matrix(1, width, 1.0, seed, 2)) {
    table_.row({"", "request 101", "request 102", "free"});
    store(101, 5);
    store(102, 3);
    note("101 stores 5 tokens, 102 stores 3");
    store(101, 4);
    note("101 stores 4 more");
    read();
    cache_.release(102);
    note("102 is released");
  }

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "{}Gathered through its table, the KV of 101 is {} what it stored; attention through the\n"
        "table differs from standard attention over a contiguous cache by {:.1e} at most.\n",
        table_.text(), equal_ ? "bit for bit" : "NOT", error_);
  }
  [[nodiscard]] bool holds() const { return equal_ && error_ < 1e-12; }

 private:
  static constexpr std::int64_t width = 16;
  static constexpr std::int64_t tokens = 12;

  void store(std::int64_t request, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, ++stored_) {
      TOKENLINE_CHECK(cache_.append(request, keys_.row(stored_), values_.row(stored_)),
                      "the example does not fit");
      if (request == 101) own_.push_back(stored_);
    }
  }
  void note(const char* step) {
    const auto& free = cache_.pool().free_list();
    table_.row({step, table_of(cache_.pool(), 101), table_of(cache_.pool(), 102),
                fmt::format("[{}]", fmt::join(free, ", "))});
  }
  void read() {
    reference::AttentionProblem contiguous;
    contiguous.q = query_;
    contiguous.k = contiguous.v = reference::Matrix(static_cast<std::int64_t>(own_.size()), width);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      std::ranges::copy(keys_.row(own_[i]), contiguous.k.row(row).begin());
      std::ranges::copy(values_.row(own_[i]), contiguous.v.row(row).begin());
    }
    equal_ =
        cache_.gathered_keys(101) == contiguous.k && cache_.gathered_values(101) == contiguous.v;
    error_ = reference::largest_difference(cache_.attention(101, query_),
                                           reference::standard_attention(contiguous).o);
  }

  reference::PagedCache cache_;
  reference::Matrix keys_;
  reference::Matrix values_;
  reference::Matrix query_;
  report::TextTable table_{4};
  std::int64_t stored_ = 0;
  std::vector<std::int64_t> own_;  ///< Rows of keys_ and values_ that 101 stored.
  bool equal_ = false;
  double error_ = 0.0;
};

std::vector<reference::KvDemand> demands(const PagedExperiment& e) {
  using Uniform = boost::random::uniform_int_distribution<std::int64_t>;
  std::vector<reference::KvDemand> all;
  for (std::int64_t i = 0; i < e.requests; ++i) {
    RandomStream stream(e.seed, "lab/lengths", static_cast<std::uint64_t>(i));
    const std::int64_t prompt = Uniform(1, 2 * e.prompt_mean - 1)(stream);
    const std::int64_t output = Uniform(1, 2 * e.output_mean - 1)(stream);
    all.push_back({prompt, output});
  }
  return all;
}

std::string occupancies(const PagedExperiment& e) {
  const std::vector<reference::KvDemand> requests = demands(e);
  report::TextTable table(1);
  table.row({"", "requests", "holds a", "handed out,", "free, runs", "", "", "preemp-"});
  table.row({"% of memory", "running", "token", "empty", "too short", "free", "steps", "tions"});
  const auto add = [&](const char* name, KvLayout layout) {
    const auto use = kv_occupancy(requests, layout, e.places, e.longest, e.block_size);
    const auto share = [&](double places) { return figure_text(100.0 * places / real(e.places)); };
    table.row({name, figure_text(use.running), share(use.stored), share(use.internal),
               share(use.external), share(use.free), fmt::format("{}", use.steps),
               fmt::format("{}", use.preemptions)});
    return use;
  };
  add("contiguous, max_model_len", KvLayout::longest);
  add("contiguous, power of two", KvLayout::power_of_two);
  add("contiguous, length known", KvLayout::exact);
  const auto paged = add(fmt::format("blocks of {}", e.block_size).c_str(), KvLayout::paged);
  return table.text() +
         fmt::format(
             "By hand: {} requests at a time under max_model_len; in blocks (block - 1) / 2 places "
             "of a\nrequest are empty, {} % of memory at {} requests.\n",
             e.places / e.longest,
             figure_text(100.0 * paged.running * 0.5 * real(e.block_size - 1) / real(e.places)),
             figure_text(paged.running));
}

}  // namespace

Usage paged_kv_lab_usage() {
  return {
      .synopsis = "lab paged-kv [options]",
      .about =
          "Follows block tables through a worked example, reads KV through them, and serves the\n"
          "same requests from a memory that is handed out contiguously (as much as max_model_len,\n"
          "the final length rounded up to a power of two, or the final length) or in blocks, all\n"
          "growing by a token a step. Means over the steps in which requests wait for memory.",
      .positional = "",
      .options = {{"tokens", "N", "Places of memory; 16384 by default.", false},
                  {"block-size", "N", "Places of a block; 16 by default.", false},
                  {"max-model-len", "N", "Longest request that is possible; 2048 by default.",
                   false},
                  {"requests", "N", "500 by default.", false},
                  {"prompt-mean", "N",
                   "Prompts are uniform from 1 to twice that less 1; 161 by default, the mean of "
                   "ShareGPT in Kwon et al., SOSP'23.",
                   false},
                  {"output-mean", "N", "The same of outputs; 338 by default.", false},
                  seed_option()},
      .epilogue = "Exit code 1 when what is read through a table is not what was stored.\n" +
                  std::string(exit_codes())};
}

Outcome paged_kv_lab(const Arguments& arguments) {
  const PagedExperiment e = paged_experiment(arguments);
  const WorkedExample example(e.seed);
  return {example.holds() ? success : assert_failed,
          fmt::format("8 blocks of 4 tokens\n{}\n{} requests, {} places of memory; seed {}\n{}",
                      example.text(), e.requests, e.places, e.seed, occupancies(e))};
}

}  // namespace tokenline::cli
