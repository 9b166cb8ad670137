#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/report/study.hpp"

namespace tokenline::report {

/// A metric as the study's text names it.
struct MetricMention {
  std::string metric;
  config::Location where;
  std::string path;
};

/// A variant as the study's text states it, before its scenario is loaded.
struct VariantText {
  std::string name;
  std::string note;
  bool ranked = true;
  std::string base;  ///< Path of the scenario; empty where that is a mistake.
  config::Location where;
  std::string path;
  /// Assignments for ScenarioOptions::overrides, with their places in the study.
  std::vector<std::pair<std::string, config::Location>> overrides;
};

/// A study's text, with the places of the metrics it names.
struct StudyText {
  StudyPlan plan;
  std::vector<VariantText> variants;
  std::vector<MetricMention> columns;
  std::vector<MetricMention> ranking;               ///< rank_by and then_by.
  std::vector<std::vector<MetricMention>> claimed;  ///< By claim: its metric and its evidence.
};

/// Reads the keys of a study; mistakes go to the document. Whether metrics exist is left open.
[[nodiscard]] StudyText read_study(config::Document& document);

}  // namespace tokenline::report
