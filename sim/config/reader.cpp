#include "sim/config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/config/reader_state.hpp"
#include "sim/config/scalars.hpp"

namespace tokenline::config {
namespace {

template <class T>
T nearest_to_zero(const Range<T>& range) {
  return std::clamp(T{0}, range.min, range.max);
}

KeyInfo quantity_info(const Dimension& dimension, Range<double> range) {
  return key_info(dimension.name, describe_range(range, dimension), std::string(dimension.example));
}

}  // namespace

template <class T, class Parse>
T Reader::State::read(Key key, KeyInfo info, const std::optional<std::string>& fallback, T least,
                      Parse parse) {
  if (fallback) {
    Node standard;
    standard.kind = Node::Kind::scalar;
    standard.where = where;
    standard.scalar = *fallback;
    Outcome<T> outcome = parse(standard);
    TOKENLINE_CHECK(outcome.value, "fallback of '{}': {}", path_of(key.name), outcome.message);
    least = *std::move(outcome.value);
    info.standard = emit_scalar(*fallback, false);
    const Node* given = ask(key, std::move(info));
    if (given == nullptr) {
      resolve(key.name, std::move(standard));
      return least;
    }
    return take<T>(*given, key, parse).value_or(std::move(least));
  }
  info.required = true;
  const Node* given = ask(key, std::move(info));
  return given == nullptr ? least : take<T>(*given, key, parse).value_or(std::move(least));
}

template <class T, class Parse>
std::optional<T> Reader::State::read_optional(Key key, KeyInfo info, Parse parse) {
  const Node* given = ask(key, std::move(info));
  if (given == nullptr) return std::nullopt;
  return take<T>(*given, key, parse);
}

template <class T, class Parse>
std::optional<T> Reader::State::take(const Node& given, Key key, Parse parse) {
  resolve(key.name, given);
  Outcome<T> outcome = parse(given);
  if (!outcome.value)
    error(given.where, key.name, std::move(outcome.message), std::move(outcome.hint));
  return std::move(outcome.value);
}

double Reader::State::read_quantity(Key key, const Dimension& dimension, Range<double> range,
                                    std::optional<std::string_view> fallback) {
  return read<double>(key, quantity_info(dimension, range),
                      fallback ? std::optional<std::string>(*fallback) : std::nullopt,
                      nearest_to_zero(range),
                      [&](const Node& value) { return read_amount(value, dimension, range); });
}

Reader::Reader(Document& document) : state_(std::make_shared<State>()) {
  const Node& root = document.root();
  state_->document = &document;
  state_->where = root.where;
  if (root.kind == Node::Kind::mapping) {
    state_->node = &root;
  } else if (root.kind != Node::Kind::null) {
    state_->wrong_kind(root, {}, "a mapping");
    state_->silent = true;
  }
}

std::int64_t Reader::integer(Key key, Range<std::int64_t> range,
                             std::optional<std::int64_t> fallback) {
  return state_->read<std::int64_t>(
      key, key_info("integer", describe_range(range)),
      fallback ? std::optional(fmt::format("{}", *fallback)) : std::nullopt, nearest_to_zero(range),
      [&](const Node& value) { return read_integer(value, range); });
}

double Reader::real(Key key, Range<double> range, std::optional<double> fallback) {
  return state_->read<double>(key, key_info("number", describe_range(range)),
                              fallback ? std::optional(fmt::format("{}", *fallback)) : std::nullopt,
                              nearest_to_zero(range),
                              [&](const Node& value) { return read_real(value, range); });
}

bool Reader::boolean(Key key, std::optional<bool> fallback) {
  return state_->read<bool>(key, key_info("true or false"),
                            fallback ? std::optional(fmt::format("{}", *fallback)) : std::nullopt,
                            false, read_boolean);
}

std::string Reader::text(Key key, std::optional<std::string> fallback) {
  return state_->read<std::string>(key, key_info("text"), fallback, {},
                                   fallback ? read_text : read_written_text);
}

std::string Reader::word(Key key, std::span<const std::string> choices,
                         std::optional<std::string> fallback) {
  TOKENLINE_CHECK(!choices.empty(), "no choices for '{}'", state_->path_of(key.name));
  return state_->read<std::string>(
      key, key_info(fmt::format("one of: {}", fmt::join(choices, ", "))), fallback, choices.front(),
      [&](const Node& value) { return read_word(value, choices); });
}

Seconds Reader::seconds(Key key, Range<double> range, std::optional<std::string_view> fallback) {
  return Seconds(state_->read_quantity(key, time_dimension, range, fallback));
}

Bytes Reader::bytes(Key key, Range<double> range, std::optional<std::string_view> fallback) {
  return Bytes(state_->read_quantity(key, size_dimension, range, fallback));
}

BytesPerSecond Reader::bandwidth(Key key, Range<double> range,
                                 std::optional<std::string_view> fallback) {
  return BytesPerSecond(state_->read_quantity(key, bandwidth_dimension, range, fallback));
}

FlopsPerSecond Reader::flop_rate(Key key, Range<double> range,
                                 std::optional<std::string_view> fallback) {
  return FlopsPerSecond(state_->read_quantity(key, flop_rate_dimension, range, fallback));
}

PerSecond Reader::rate(Key key, Range<double> range, std::optional<std::string_view> fallback) {
  return PerSecond(state_->read_quantity(key, rate_dimension, range, fallback));
}

Watts Reader::power(Key key, Range<double> range, std::optional<std::string_view> fallback) {
  return Watts(state_->read_quantity(key, power_dimension, range, fallback));
}

std::optional<std::int64_t> Reader::optional_integer(Key key, Range<std::int64_t> range) {
  return state_->read_optional<std::int64_t>(
      key, key_info("integer", describe_range(range)),
      [&](const Node& value) { return read_integer(value, range); });
}

std::optional<double> Reader::optional_real(Key key, Range<double> range) {
  return state_->read_optional<double>(key, key_info("number", describe_range(range)),
                                       [&](const Node& value) { return read_real(value, range); });
}

std::optional<std::string> Reader::optional_text(Key key) {
  return state_->read_optional<std::string>(key, key_info("text"), read_text);
}

std::optional<Seconds> Reader::optional_seconds(Key key, Range<double> range) {
  const auto value = state_->read_optional<double>(
      key, quantity_info(time_dimension, range),
      [&](const Node& node) { return read_amount(node, time_dimension, range); });
  return value ? std::optional(Seconds(*value)) : std::nullopt;
}

void Reader::alternative(std::string_view when, bool chosen, const std::function<void()>& read) {
  if (!chosen && state_->document->purpose_ == Document::Purpose::read) return;
  const std::string around = state_->when;
  if (!when.empty()) state_->when = when;
  read();
  state_->when = around;
}

bool Reader::has(std::string_view key) const {
  state_->looked_for.emplace(key);
  return state_->find(key) != nullptr;
}

bool Reader::is_mapping(std::string_view key) const {
  const Node* node = state_->find(key);
  return node != nullptr && node->kind == Node::Kind::mapping;
}

bool Reader::is_sequence(std::string_view key) const {
  const Node* node = state_->find(key);
  return node != nullptr && node->kind == Node::Kind::sequence;
}

bool Reader::is_null(std::string_view key) const {
  const Node* node = state_->find(key);
  return node != nullptr && node->kind == Node::Kind::null;
}

void Reader::error(std::string_view key, std::string message, std::string hint) const {
  state_->error(where(key), key, std::move(message), std::move(hint));
}

Location Reader::where(std::string_view key) const {
  const Node* node = state_->find(key);
  return node == nullptr ? state_->where : node->where;
}

std::string Reader::file_path(std::string_view key, const std::string& file) const {
  std::string named_in = where(key).file;
  if (named_in.starts_with("--set ")) named_in = state_->document->root_.where.file;
  return (std::filesystem::path(named_in).parent_path() / file).string();
}

std::string Reader::existing_file(std::string_view key, const std::string& file) const {
  if (file.empty()) return {};
  std::string path = file_path(key, file);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return path;
  error(key, fmt::format("there is no file '{}'", path));
  return {};
}

bool is_file_name(std::string_view value) {
  return value.find('/') != std::string_view::npos || value.ends_with(".json") ||
         value.ends_with(".yaml");
}

const std::string& Reader::path() const { return state_->path; }

Document& Reader::document() const { return *state_->document; }

void Reader::allow_unknown() { state_->lenient = true; }

void Reader::finish() {
  TOKENLINE_CHECK(!state_->finished, "'{}' is finished twice", state_->path);
  state_->finished = true;
  if (state_->lenient || state_->node == nullptr) return;
  std::set<std::string, std::less<>> keys = state_->asked;
  keys.insert(state_->looked_for.begin(), state_->looked_for.end());
  const std::vector<std::string> known(keys.begin(), keys.end());
  for (const auto& entry : state_->node->entries)
    if (!state_->asked.contains(entry.key))
      state_->error(entry.where, entry.key, "unknown key", suggestion(entry.key, known));
}

}  // namespace tokenline::config
