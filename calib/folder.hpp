#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "calib/samples.hpp"
#include "sim/config/table.hpp"

namespace tokenline::calib {

/// Sizes of a table: whole numbers, bounded so that no product of them leaves an integer.
inline constexpr config::Range<std::int64_t> lengths{1, 10'000'000};  ///< Tokens, widths.
inline constexpr config::Range<std::int64_t> batches{1, 1'000'000};   ///< Sequences.
inline constexpr config::Range<std::int64_t> heads{1, 1024};
inline constexpr config::Range<std::int64_t> head_widths{1, 512};
inline constexpr config::Range<std::int64_t> degrees{1,
                                                     10'000};  ///< Experts, ranks that hold them.

/// A folder of measurements while its tables are read. Mistakes of all tables are gathered.
class Folder {
 public:
  using Row = config::TableRow;

  Folder(const hw::Datasheet& gpu, std::string path, Unknown unknown);

  [[nodiscard]] const hw::Datasheet& gpu() const { return *gpu_; }

  /// Calls `read` with every row of a table, where the folder has it; `done` after the last one.
  void each_row(
      const std::string& file, const std::vector<std::string_view>& columns,
      const std::function<void(const Row&)>& read, const std::function<void()>& done = [] {});

  /// A measured time, which tables state in microseconds.
  [[nodiscard]] static Seconds time(const Row& row, std::string_view column);
  /// What stands in a row at `column` is priced by no model.
  void refuse(const Row& row, std::string_view column, std::string_view reason,
              std::string_view hint, Seconds time);
  /// Keeps a call; the same call twice in a table is a mistake.
  void add(const Row& row, Sample sample);
  /// Keeps one that may stand there more than once: layers of different models that do the same.
  void add_again(Sample sample) { samples_.samples.push_back(std::move(sample)); }
  void add(const Row& row, const CollectiveSample& sample);
  void add(const Row& row, const MixedSample& sample);

  /// How many calls were kept so far.
  [[nodiscard]] std::size_t size() const { return samples_.samples.size(); }
  [[nodiscard]] const std::vector<MixedSample>& mixed() const { return samples_.mixed; }

  /// Everything read so far. Throws config::ConfigError with every mistake, for a file *.csv that
  /// is none of the tables, and for a folder without any.
  [[nodiscard]] Samples finish();

 private:
  using Sizes = std::vector<std::int64_t>;

  void once(const Row& row, std::string_view kind, const Sizes& shape, const Sizes& point);
  void check_files() const;

  const hw::Datasheet* gpu_;
  std::string path_;
  Unknown unknown_;
  Samples samples_;
  std::vector<std::string> known_;                              ///< The tables asked for.
  int tables_ = 0;                                              ///< Those that were there.
  std::string file_;                                            ///< The table that is being read.
  std::map<std::tuple<std::string, Sizes, Sizes>, int> lines_;  ///< Of its calls.
  config::Mistakes mistakes_;
};

}  // namespace tokenline::calib
