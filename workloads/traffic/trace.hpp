#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/traffic/source.hpp"

namespace tokenline::traffic {

/// How a file spells requests. Where each is published: README.md.
enum class TraceFormat {
  azure,     ///< CSV of Azure/AzurePublicDataset. Times count from the first row.
  burstgpt,  ///< CSV of HPMLL/BurstGPT; `Model` is the class. Times count from the first row.
  csv,       ///< Our own: `arrival_s,prompt_tokens,output_tokens[,class]`, or a run's requests.csv.
  mooncake,  ///< JSON lines of kvcache-ai/Mooncake.
  splitwise,  ///< CSV of Mutinifni/splitwise-sim.
  vidur,      ///< CSV of microsoft/vidur.
};

/// The word of each format, in the order of the enumerators.
[[nodiscard]] const std::vector<std::string>& trace_formats();

/// What to take of a trace file.
struct TraceSelection {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

  std::string file{};
  TraceFormat format = TraceFormat::csv;
  double speedup = 1.0;               ///< Arrival times are divided by it.
  std::optional<std::string> only{};  ///< The class whose rows are taken.
  std::int64_t limit = unlimited;     ///< Rows taken at most.
  /// A row without output tokens (a failed request) is left out, and counted, instead of being a
  /// mistake.
  bool leave_out_unanswered = false;
  /// Rows of more prompt + output tokens are left out, and counted.
  std::int64_t max_total_tokens = unlimited;
};

/// The rows taken, in the order of the file.
struct Trace {
  std::vector<Arrival> arrivals;  ///< class_index is into `classes`, 0 where there are none.
  /// What each begins with; empty where the format does not say.
  std::vector<Content> contents;
  std::vector<std::string> classes;  ///< By first appearance; empty without a class column.
  bool has_class_column = false;
  /// Every class of the file, taken or not.
  std::vector<std::string> all_classes;
  std::int64_t longest_prompt = 0;
  std::int64_t longest_total = 0;
  config::Location longest_at;  ///< Of the row with the largest prompt + output.
  /// Rows that the selection would have taken, before its limit, but for these.
  std::int64_t unanswered = 0;
  std::int64_t too_long = 0;
};

/// Reads and checks a whole trace file. Every mistake goes to `document` at its line and column of
/// the trace: wrong or missing columns, a row cut short, anything but a whole positive number of
/// tokens, a time that is none or that goes back. With mistakes the result is incomplete.
/// Selecting no row is left to the caller.
[[nodiscard]] Trace read_trace(config::Document& document, const TraceSelection& selection);

/// Offers recorded arrivals as they are. `contents` is empty, or has what each begins with; the
/// Arrival::session of each is then its place in it.
class TraceSource final : public Source {
 public:
  explicit TraceSource(std::vector<Arrival> arrivals, std::vector<Content> contents = {})
      : arrivals_(std::move(arrivals)), contents_(std::move(contents)) {}

  [[nodiscard]] std::optional<Arrival> next() override {
    if (next_ == arrivals_.size()) return std::nullopt;
    return arrivals_[next_++];
  }
  [[nodiscard]] std::optional<Arrival> finished(const Finished& /*request*/) override {
    return std::nullopt;
  }
  [[nodiscard]] bool shares() const override { return !contents_.empty(); }
  [[nodiscard]] Content content(std::uint32_t session) const override {
    return contents_.empty() ? Content{} : contents_.at(session);
  }

 private:
  std::vector<Arrival> arrivals_;
  std::vector<Content> contents_;
  std::size_t next_ = 0;
};

}  // namespace tokenline::traffic
