#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/traffic/text_file.hpp"
#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {

/// A value of a trace and where it stands.
template <class T>
struct Placed {
  T value{};
  int line = 1;
  int column = 1;
};

/// One request as a trace tells it.
struct TraceRow {
  TimePoint when{};
  Placed<std::int64_t> prompt{};
  Placed<std::int64_t> output{};
  std::string_view class_name{};  ///< Where the format has one.
};

/// What to do about a row without output.
inline constexpr const char* leave_out_hint =
    "a request without an answer: 'unanswered: leave_out' leaves such rows out";

/// What every format of a trace has in common: times in order, counts of tokens that a request can
/// have, and the selection of rows. Mistakes go to `file`.
class TraceRows {
 public:
  TraceRows(TextFile& file, const TraceSelection& selection) : file_(file), selection_(selection) {}

  /// When a row arrives in the scenario, or none, and a mistake, where that is beyond the clock. A
  /// time before the last row's is a mistake; `text` is the time as it was written, part of the
  /// file's text.
  [[nodiscard]] std::optional<TimePoint> when(const Placed<std::int64_t>& nanoseconds,
                                              std::string_view text, bool from_first_row);
  /// Reports counts that no request of the chosen class has; a row without output is one where it
  /// is to be left out.
  void check(const TraceRow& row);
  /// Notes that a class is there.
  void see_class(std::string_view name);
  /// Takes the row if it is selected and no mistake has been found so far, and says whether it did.
  bool take(const TraceRow& row, bool has_class);
  /// What the row taken last begins with.
  void begins_with(Content content);

  /// The rows taken.
  [[nodiscard]] Trace finish(bool has_class_column);

 private:
  [[nodiscard]] bool has_chosen_class(const TraceRow& row) const;

  TextFile& file_;
  const TraceSelection& selection_;
  Trace trace_;
  std::optional<std::int64_t> first_;     ///< Time of the first row.
  std::optional<std::int64_t> previous_;  ///< Time of the row before, with its text and line.
  std::string_view previous_text_;
  int previous_line_ = 0;
};

}  // namespace tokenline::traffic
