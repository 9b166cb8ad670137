#include <fmt/format.h>

#include <algorithm>

#include "sim/config/node.hpp"
#include "workloads/models/architecture.hpp"
#include "workloads/models/presets.hpp"

namespace tokenline::models {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  std::ranges::sort(names);
  return names;
}

Architecture load_model(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json"))
    return parse_model(name_or_path, config::read_file(name_or_path));
  const auto found = std::ranges::find(presets(), name_or_path, &Preset::name);
  if (found == presets().end()) {
    throw config::ConfigError(config::Diagnostic{
        {name_or_path, 1, 1},
        "model",
        fmt::format("no built-in model is called '{}'", name_or_path),
        config::suggestion(name_or_path, model_names()) + "; or the path of a config.json"});
  }
  return parse_model(fmt::format("{}.json", found->name), found->json);
}

}  // namespace tokenline::models
