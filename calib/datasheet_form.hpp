#pragma once

#include <string>

namespace tokenline::calib {

/// A catalog entry is the text of a datasheet with lines before and after it. Throws
/// config::ConfigError at what does not bear that: a byte order mark, `---` and `...`, keys in
/// braces or not in the first column, a last line without its end; and for a file that is no YAML.
void check_datasheet_form(const std::string& path);

}  // namespace tokenline::calib
