#include "tools/vllm/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "tools/vllm/to_vllm.hpp"

namespace tokenline::vllm {
namespace {

using Json = nlohmann::ordered_json;

/// Whether a word begins a flag: a negative number does not.
bool begins_flag(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && !config::parse_real(word).ok();
}

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

std::optional<std::pair<std::string, std::string>> assignment(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || word.front() == '-') return std::nullopt;
  const auto name_character = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  if (!std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                   name_character))
    return std::nullopt;
  return std::pair(word.substr(0, equals), word.substr(equals + 1));
}

/// A value of `--flag.key value`: JSON where it is, else text.
Json json_or_text(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

/// A YAML value as JSON text.
Json json_of(const config::Node& node) {
  using Kind = config::Node::Kind;
  if (node.kind == Kind::scalar) return node.quoted ? Json(node.scalar) : json_or_text(node.scalar);
  Json value;
  if (node.kind == Kind::sequence) {
    value = Json::array();
    for (const config::Node& item : node.items) value.push_back(json_of(item));
  } else if (node.kind == Kind::mapping) {
    value = Json::object();
    for (const auto& [key, where, item] : node.entries) value[key] = json_of(item);
  }
  return value;
}

class Parser {
 public:
  Parser(std::span<const Flag> flags, const std::string& what) : flags_(flags), what_(what) {}

  CommandLine parse(std::vector<std::string> words) {
    skip_program(words);
    pull_config(words);
    for (std::size_t i = 0; i < words.size();) take(words, i);
    for (auto& [flag, value, text] : dotted_) {
      Given given{.flag = flag, .values = {value.dump()}, .text = text};
      line_.flags.push_back(std::move(given));
    }
    if (!mistakes_.empty()) throw config::ConfigError(std::move(mistakes_));
    return std::move(line_);
  }

 private:
  /// Environment, and the words that name the program.
  void skip_program(std::vector<std::string>& words) {
    std::size_t i = 0;
    for (; i < words.size(); ++i) {
      if (words[i] == "env" || words[i] == "export") continue;
      const auto given = assignment(words[i]);
      if (!given) break;
      line_.environment.push_back(*given);
    }
    const std::size_t begin = i;
    for (; i < words.size() && i < begin + 4; ++i) {
      const std::string& word = words[i];
      const bool last = word == "serve" || word == "vllm.entrypoints.openai.api_server" ||
                        word.ends_with("benchmark_serving.py");
      const bool part = last || word == "vllm" || word == "bench" || word == "-m" ||
                        word.find("python") != std::string::npos;
      if (!part) break;
      if (!last) continue;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i + 1));
      return;
    }
    mistakes_.push_back(mistake_in(what_, "", fmt::format("does not begin with '{}'", what_),
                                   fmt::format("write the whole command: {} …", what_)));
    words.clear();
  }

  /// Puts what --config says before everything else, which then counts.
  void pull_config(std::vector<std::string>& words) {
    const auto found = std::ranges::find_if(
        words, [](const std::string& w) { return w == "--config" || w.starts_with("--config="); });
    if (found == words.end()) return;
    const auto at = found - words.begin();
    std::string file;
    if (const auto equals = found->find('='); equals != std::string::npos)
      file = found->substr(equals + 1);
    else if (found + 1 != words.end())
      file = *(found + 1);
    words.erase(found,
                words.begin() + std::min<std::ptrdiff_t>(
                                    at + (file.empty() || words[static_cast<std::size_t>(at)].find(
                                                              '=') != std::string::npos
                                              ? 1
                                              : 2),
                                    std::ssize(words)));
    if (file.empty()) {
      mistakes_.push_back(mistake_in(what_, "--config", "names no file"));
      return;
    }
    const config::Node root = config::load_yaml(file);
    std::vector<std::string> first;
    for (const auto& [key, where, value] : root.entries) add_setting(key, value, first);
    words.insert(words.begin(), first.begin(), first.end());
  }

  void add_setting(const std::string& key, const config::Node& value,
                   std::vector<std::string>& words) {
    if (key == "model") {
      words.push_back("--model");
      words.push_back(value.scalar);
      return;
    }
    const bool yes = value.scalar == "true";
    if (!value.quoted && (yes || value.scalar == "false")) {
      words.push_back((yes ? "--" : "--no-") + key);
      return;
    }
    words.push_back("--" + key);
    if (value.kind == config::Node::Kind::sequence)
      for (const config::Node& item : value.items) words.push_back(item.scalar);
    else
      words.push_back(value.kind == config::Node::Kind::mapping ? json_of(value).dump()
                                                                : value.scalar);
  }

  void take(const std::vector<std::string>& words, std::size_t& i) {
    const std::string word = words[i++];
    if (!begins_flag(word)) {
      line_.positional.push_back(word);
      return;
    }
    if (word.starts_with("-O") && word.size() > 2) {
      add(find_flag(flags_, "optimization-level"), word, word, word.substr(word[2] == '=' ? 3 : 2),
          words, i);
      return;
    }
    const auto equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    if (const auto point = name.find('.'); point != std::string::npos && name.starts_with("--")) {
      take_dotted(name, point, value, words, i);
      return;
    }
    bool on = true;
    const Flag* flag = resolve(name, on);
    if (flag == nullptr) return unknown(name, words, i);
    add(flag, name, word, value, words, i, on);
  }

  /// `--speculative-config.method ngram`: part of one JSON object.
  void take_dotted(const std::string& name, std::size_t point, std::optional<std::string> value,
                   const std::vector<std::string>& words, std::size_t& i) {
    bool on = true;
    const Flag* flag = resolve(name.substr(0, point), on);
    if (flag == nullptr) return unknown(name.substr(0, point), words, i);
    if (!value && i < words.size()) value = words[i++];
    if (!value) {
      mistakes_.push_back(mistake_in(what_, name, "has no value"));
      return;
    }
    std::string path = name.substr(point + 1);
    const bool appends = path.ends_with('+');
    if (appends) path.pop_back();
    auto found = std::ranges::find(dotted_, flag, &Dotted::flag);
    if (found == dotted_.end()) {
      dotted_.push_back({flag, Json::object(), {}});
      found = dotted_.end() - 1;
    }
    found->text += (found->text.empty() ? "" : " ") + name + ' ' + *value;
    Json* at = &found->value;
    for (std::size_t begin = 0; begin <= path.size();) {
      const auto end = std::min(path.find('.', begin), path.size());
      if (!at->is_object()) *at = Json::object();
      at = &(*at)[path.substr(begin, end - begin)];
      begin = end + 1;
    }
    if (appends)
      at->push_back(json_or_text(*value));
    else
      *at = json_or_text(*value);
  }

  /// The flag that a name means, and whether it turns a switch on.
  const Flag* resolve(const std::string& written, bool& on) const {
    if (!written.starts_with("--")) {
      const auto found = std::ranges::find(flags_, written, &Flag::short_name);
      return found == flags_.end() ? nullptr : &*found;
    }
    std::string name = dashed(written.substr(2));
    if (name == "device-memory-utilization") name = "gpu-memory-utilization";
    if (const Flag* flag = find_flag(flags_, name)) return flag;
    const auto switch_named = [&](const std::string& other) -> const Flag* {
      const Flag* flag = find_flag(flags_, other);
      return flag != nullptr && flag->takes == Takes::nothing ? flag : nullptr;
    };
    for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"no-", ""},
                                   {"disable-", "enable-"},
                                   {"enable-", "disable-"}})
      if (name.starts_with(from))
        if (const Flag* flag = switch_named(std::string(to) + name.substr(from.size()))) {
          on = false;
          return flag;
        }
    const Flag* only = nullptr;
    for (const Flag& flag : flags_) {
      if (!flag.name.starts_with(name)) continue;
      if (only != nullptr) return nullptr;
      only = &flag;
    }
    return only;
  }

  void add(const Flag* flag, const std::string& name, std::string text,
           std::optional<std::string> value, const std::vector<std::string>& words, std::size_t& i,
           bool on = true) {
    Given given{.flag = flag, .values = {}, .on = on, .text = std::move(text)};
    const auto next = [&] {
      given.text += ' ' + words[i];
      given.values.push_back(words[i++]);
    };
    if (value) given.values.push_back(*value);
    if (flag->takes == Takes::nothing) {
      if (value) mistakes_.push_back(mistake_in(what_, name, "is a switch and takes no value"));
    } else if (flag->takes == Takes::one) {
      if (!value && i < words.size() && !begins_flag(words[i])) next();
    } else if (!value) {
      while (i < words.size() && !begins_flag(words[i])) next();
    }
    if (flag->takes != Takes::nothing && given.values.empty())
      mistakes_.push_back(mistake_in(what_, name, "has no value"));
    line_.flags.push_back(std::move(given));
  }

  void unknown(const std::string& name, const std::vector<std::string>& words, std::size_t& i) {
    std::vector<std::string> known;
    for (const Flag& flag : flags_) {
      known.push_back("--" + std::string(flag.name));
      if (!flag.short_name.empty()) known.emplace_back(flag.short_name);
    }
    const auto near =
        config::closest(name.starts_with("--") ? "--" + dashed(name.substr(2)) : name, known);
    mistakes_.push_back(mistake_in(
        what_, name, "no flag of that name",
        near ? fmt::format("did you mean '{}'?", *near) : "the flags known: tools/vllm/README.md"));
    while (i < words.size() && !begins_flag(words[i])) ++i;
  }

  struct Dotted {
    const Flag* flag;
    Json value;
    std::string text;
  };

  std::span<const Flag> flags_;
  const std::string& what_;
  CommandLine line_;
  std::vector<Dotted> dotted_;
  std::vector<config::Diagnostic> mistakes_;
};

}  // namespace

config::Diagnostic mistake_in(const std::string& what, const std::string& flag, std::string message,
                              std::string hint) {
  return {{what, 1, 1}, flag, std::move(message), std::move(hint)};
}

const Given* CommandLine::find(std::string_view name) const {
  const auto found = std::find_if(flags.rbegin(), flags.rend(),
                                  [&](const Given& given) { return given.flag->name == name; });
  return found == flags.rend() ? nullptr : &*found;
}

std::vector<std::string> split_shell(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // A word has begun, perhaps an empty one.
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool more = i + 1 < line.size();
    if (quote == '\'') {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\\' && more && line[i + 1] == '\n') {
      ++i;
    } else if (quote == '"') {
      const bool escapes = c == '\\' && more &&
                           std::string_view("\"\\$`").find(line[i + 1]) != std::string_view::npos;
      if (c == quote)
        quote = 0;
      else
        word += escapes ? line[++i] : c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == '\\' && more) {
      word += line[++i];
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != 0)
    throw config::ConfigError(config::Diagnostic{{std::string(line.substr(0, 40)), 1, 1},
                                                 {},
                                                 fmt::format("a {} that nothing closes", quote),
                                                 "quote as in a shell: '{\"key\": \"value\"}'"});
  if (inside) words.push_back(std::move(word));
  return words;
}

std::string shell_line(std::span<const std::string> words) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

CommandLine parse_command(std::span<const std::string> words, std::span<const Flag> flags,
                          const std::string& what) {
  return Parser(flags, what).parse(std::vector<std::string>(words.begin(), words.end()));
}

}  // namespace tokenline::vllm
