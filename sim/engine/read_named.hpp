#pragma once

#include <optional>
#include <string>

#include "sim/config/reader.hpp"

namespace tokenline {

/// Reads a key that names a model or GPU, and loads it: a built-in name, or a path relative to the
/// scenario. A mistake in the name is reported at the key, one in the file at its own line. Nothing
/// where the key is not given, which is a mistake if it is `required`.
template <class Load>
auto load_named(config::Reader& reader, config::Key key, const Load& load, bool required = true)
    -> std::optional<decltype(load(std::string()))> {
  const std::size_t before = reader.document().mistakes();
  const std::string name =
      required ? reader.text(key) : reader.optional_text(key).value_or(std::string());
  if (!reader.has(key.name) || reader.document().mistakes() != before) return {};
  const bool is_path = config::is_file_name(name);
  const std::string source = is_path ? reader.existing_file(key.name, name) : name;
  if (source.empty()) return {};
  try {
    return load(source);
  } catch (const config::ConfigError& e) {
    for (const auto& d : e.diagnostics()) {
      if (is_path)
        reader.document().error(d.where, d.path, d.message, d.hint);
      else
        reader.error(key.name, d.message, d.hint);
    }
    return {};
  }
}

}  // namespace tokenline
