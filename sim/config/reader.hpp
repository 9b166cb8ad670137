#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/config/node.hpp"

namespace tokenline::config {

/// A key of a mapping and, in one sentence, what it means: declared once, where it is read. The
/// sentence feeds `tokenline describe`.
struct Key {
  std::string_view name;
  std::string_view doc;
  /// What KeyInfo::standard says instead of the default, where that depends on other values.
  std::string_view standard = {};
};

/// Inclusive bounds of a number; for quantities in base units.
template <class T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

/// One row of `describe`: what a key accepts.
struct KeyInfo {
  std::string path;      ///< "engine.block_size"; "traffic.<name>.rate", "faults[].at" inside many.
  std::string type;      ///< "integer", "duration", "one of: a, b", …
  std::string unit;      ///< Example with unit, "512 ms"; empty for plain numbers.
  std::string range;     ///< "1 to 64", "at least 0.5 ms", …; empty when anything goes.
  std::string standard;  ///< The default as YAML text; empty when there is none.
  bool required = false;
  std::string when;  ///< "with process: gamma"; empty when the key does not depend on a choice.
  std::string doc;
};

/// What one reading of a document gathers, shared by all Readers of it: the mistakes, the keys
/// asked for, and the resolved tree (every key asked for, with the default where none was given).
class Document {
 public:
  /// `describe`: nothing is given, every collection of mappings has one blank member, and every
  /// Reader::alternative() is read, so that keys() learns all there is; no mistake is recorded.
  enum class Purpose { read, describe };

  explicit Document(Node root, Purpose purpose = Purpose::read);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  [[nodiscard]] const Node& root() const { return root_; }
  /// Adds a mistake; reading goes on.
  void error(Location where, std::string path, std::string message, std::string hint = {});
  [[nodiscard]] bool ok() const { return errors_.empty(); }
  /// How many were gathered so far. Checks that build on several values compare it with what it was
  /// before those were read, so that one mistake is one message.
  [[nodiscard]] std::size_t mistakes() const { return errors_.size(); }
  /// Throws ConfigError with everything gathered, in the order of the text; returns if there was
  /// nothing.
  void throw_if_errors();

  /// Every key asked for so far, in the order of asking, with the value in force: values as the
  /// user wrote them, or the default as it is declared. Reading emit_yaml() of it gives the same
  /// values.
  [[nodiscard]] const Node& resolved() const { return resolved_; }
  /// What every key asked for so far accepts, each once, in the order of asking.
  [[nodiscard]] std::span<const KeyInfo> keys() const { return keys_; }

 private:
  friend class Reader;
  Node root_;
  Purpose purpose_;
  Node resolved_;
  std::vector<Diagnostic> errors_;
  std::vector<KeyInfo> keys_;
  std::set<std::tuple<std::string, std::string, std::string>>
      described_;  ///< Path, type and condition of keys_.
};

/// Reads one mapping of a Document strictly: types, units and ranges are checked, and finish()
/// reports every key nobody asked for. A mistake is recorded and reading continues with the
/// fallback (or the valid value nearest to 0), so that all mistakes of a file come out together.
/// Asking twice for a key, and a fallback outside the range, are our bugs (InternalError).
///
/// A key without a fallback is required. Quantities must carry a unit: `80 GB`, `3.35 TB/s`,
/// `35/s`, `512 ms`, `989 TFLOP/s`; a bare number is an error, except 0. Units: s ms us ns min h;
/// B kB MB GB TB KiB MiB GiB TiB; B/s … TB/s (also GiB/s …); FLOP/s GFLOP/s TFLOP/s PFLOP/s; /s
/// /min /h Hz MHz GHz; W kW. Quotes around a quantity are allowed (JSON needs them). Integers:
/// decimal digits with optional sign and underscores (`16_384`); no octal, hex, leading zero or
/// exponent. NaN and infinity are errors everywhere, except `inf` where the range of real() ends at
/// infinity. Booleans: `true` and `false`. A collection given as nothing (`faults:`) is empty.
class Reader {
 public:
  /// The root mapping. A document that is not a mapping is an error, and reads as an empty one.
  explicit Reader(Document& document);

  [[nodiscard]] std::int64_t integer(Key key, Range<std::int64_t> range,
                                     std::optional<std::int64_t> fallback = {});
  [[nodiscard]] double real(Key key, Range<double> range, std::optional<double> fallback = {});
  [[nodiscard]] bool boolean(Key key, std::optional<bool> fallback = {});
  /// A required text must not be empty.
  [[nodiscard]] std::string text(Key key, std::optional<std::string> fallback = {});
  /// One of `choices`; a near miss gets a did-you-mean.
  [[nodiscard]] std::string word(Key key, std::span<const std::string> choices,
                                 std::optional<std::string> fallback = {});

  /// Fallbacks of quantities are texts with a unit ("0.5 ms"), so that they are stated once.
  [[nodiscard]] Seconds seconds(Key key, Range<double> range,
                                std::optional<std::string_view> fallback = {});
  [[nodiscard]] Bytes bytes(Key key, Range<double> range,
                            std::optional<std::string_view> fallback = {});
  [[nodiscard]] BytesPerSecond bandwidth(Key key, Range<double> range,
                                         std::optional<std::string_view> fallback = {});
  [[nodiscard]] FlopsPerSecond flop_rate(Key key, Range<double> range,
                                         std::optional<std::string_view> fallback = {});
  [[nodiscard]] PerSecond rate(Key key, Range<double> range,
                               std::optional<std::string_view> fallback = {});
  [[nodiscard]] Watts power(Key key, Range<double> range,
                            std::optional<std::string_view> fallback = {});

  /// Keys that may be absent and have no default: nothing when not given (the resolved tree then
  /// lacks them too), and after a mistake.
  [[nodiscard]] std::optional<std::int64_t> optional_integer(Key key, Range<std::int64_t> range);
  [[nodiscard]] std::optional<double> optional_real(Key key, Range<double> range);
  [[nodiscard]] std::optional<std::string> optional_text(Key key);
  [[nodiscard]] std::optional<Seconds> optional_seconds(Key key, Range<double> range);

  /// Calls `read`, which asks for the keys of one choice among several, if that was `chosen`. They
  /// say `when` in KeyInfo ("with process: gamma"); empty stands for that of the alternative
  /// around it. For description all alternatives are read, and may ask for the same keys.
  void alternative(std::string_view when, bool chosen, const std::function<void()>& read);

  /// Whether the user (or a preset below) gave the key. Does not count as asking for it.
  [[nodiscard]] bool has(std::string_view key) const;
  /// Whether the key's value is a mapping (for keys that take a number or a mapping).
  [[nodiscard]] bool is_mapping(std::string_view key) const;
  [[nodiscard]] bool is_sequence(std::string_view key) const;
  /// Whether the key was given as nothing: `null`, `~` or no value.
  [[nodiscard]] bool is_null(std::string_view key) const;

  /// A nested mapping; a missing one is an error unless `optional`, and then reads as empty. In one
  /// whose absence is an error, required keys are not reported again.
  [[nodiscard]] Reader section(Key key, bool optional = false);
  /// A nested mapping whose absence differs from an empty one.
  [[nodiscard]] std::optional<Reader> optional_section(Key key);
  /// The entries of a mapping whose keys are names chosen by the user, in the order of the text.
  [[nodiscard]] std::vector<std::pair<std::string, Reader>> named_sections(Key key,
                                                                           bool optional = false);
  /// The items of a sequence of mappings.
  [[nodiscard]] std::vector<Reader> items(Key key, bool optional = false);
  /// The items of a sequence of numbers or of texts.
  [[nodiscard]] std::vector<double> reals(Key key, Range<double> range, bool optional = false);
  [[nodiscard]] std::vector<std::string> texts(Key key, bool optional = false);
  /// `key: {name: value, …}` with scalar values as YAML text, in order (the overrides of a variant,
  /// ready for apply_override()).
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> assignments(Key key,
                                                                             bool optional = false);

  /// A mistake of meaning ("tensor_parallel_size does not divide 64 heads") at the key's value, or
  /// at the mapping where the key was not given. An empty key means the mapping itself.
  void error(std::string_view key, std::string message, std::string hint = {}) const;
  /// The place error() would report.
  [[nodiscard]] Location where(std::string_view key) const;
  /// The path of a data file that `key` names: absolute as it is, else from the folder of the file
  /// in which the key's value stands (of the document, where an override gives it).
  [[nodiscard]] std::string file_path(std::string_view key, const std::string& file) const;
  /// The same of a file that is there; empty for no name, and, with a mistake at the key, where
  /// there is no such file.
  [[nodiscard]] std::string existing_file(std::string_view key, const std::string& file) const;
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] Document& document() const;

  /// Reports every key nobody asked for, with a did-you-mean. Call once per Reader, after reading;
  /// a second call is our bug.
  void finish();
  /// Accepts keys nobody asks for: for files that are not ours, such as Hugging Face's config.json.
  void allow_unknown();

 private:
  struct State;
  explicit Reader(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// Whether the value of a key that takes a built-in name or a file (a model, a GPU) means a file.
[[nodiscard]] bool is_file_name(std::string_view value);

/// Parses a quantity such as "80 GB" in base units, as a Reader does. Empty when the text is not a
/// number and one of the units of its kind.
[[nodiscard]] std::optional<Seconds> parse_seconds(std::string_view text);
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] std::optional<BytesPerSecond> parse_bandwidth(std::string_view text);
[[nodiscard]] std::optional<FlopsPerSecond> parse_flop_rate(std::string_view text);
[[nodiscard]] std::optional<PerSecond> parse_rate(std::string_view text);
[[nodiscard]] std::optional<Watts> parse_power(std::string_view text);

}  // namespace tokenline::config
