#pragma once

#include <string>
#include <string_view>

#include "sim/config/node.hpp"

namespace tokenline::report {

/// An entry of `traffic:` that replays the rows of a class in trace.csv, or to which nothing
/// arrives. It keeps the keys of `stated`, an entry or null, that are not about when requests come
/// and how long they are.
[[nodiscard]] config::Node replayed_class(const std::string& class_name, bool arrives,
                                          const config::Node* stated);

/// Sets a value of a mapping, in its place or at the end.
void set_value(config::Node& mapping, std::string_view key, config::Node value);

/// A text, quoted.
[[nodiscard]] config::Node text_value(std::string text);

}  // namespace tokenline::report
