#include "workloads/traffic/read_lengths.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "workloads/traffic/csv_file.hpp"

namespace tokenline::traffic {
namespace {

/// Rejection sampling below this share of draws inside would be slow, and hardly what was meant.
constexpr double least_inside = 0.01;

constexpr config::Range<std::int64_t> tokens{1, most_tokens};

UniformLength read_uniform(config::Reader& section) {
  UniformLength uniform;
  uniform.min = section.integer({"min", "Smallest value drawn."}, tokens);
  uniform.max = section.integer({"max", "Largest value drawn."}, {uniform.min, most_tokens});
  return uniform;
}

LognormalLength read_lognormal(config::Reader& section) {
  const std::size_t before = section.document().mistakes();
  LognormalLength lognormal;
  lognormal.mean = section.real({"mean", "Mean before values outside are drawn again."},
                                {1e-3, static_cast<double>(most_tokens)});
  lognormal.sigma = section.real({"sigma", "Standard deviation of the logarithm."}, {1e-3, 10.0});
  lognormal.min = section.integer({"min", "Values below are drawn again."}, tokens, 1);
  lognormal.max =
      section.integer({"max", "Values above are drawn again."}, {lognormal.min, most_tokens});
  // Why: where one of the four was wrong, its share says nothing.
  if (section.document().mistakes() != before) return lognormal;
  const double inside = lognormal.probability_inside();
  if (!(inside >= least_inside))
    section.error("mean",
                  fmt::format("only {:.2g} % of this distribution lies in [{}, {}]", 100.0 * inside,
                              lognormal.min, lognormal.max),
                  "at least 1 % must: move mean, or widen min and max");
  return lognormal;
}

LengthDistribution read_empirical(config::Reader& section) {
  const config::Key key{"file", "One value per line, after an optional header `tokens`."};
  const std::string path = section.existing_file(key.name, section.text(key));
  if (path.empty()) return FixedLength{};
  auto values = std::make_shared<std::vector<std::int64_t>>();
  CsvFile file(section.document(), path);
  CsvRow row;
  while (file.next(row)) {
    if (row.line == 1 && row.text == "tokens") continue;
    if (row.fields.size() == 1)
      values->push_back(parse_tokens(file, row, 0));
    else
      file.error(row.line, 1, fmt::format("{} fields, where one length is", row.fields.size()));
  }
  if (values->empty() && file.ok()) file.error(1, 1, "a header without lengths");
  if (!file.ok()) return FixedLength{};
  return EmpiricalLength{std::move(values)};
}

LengthDistribution read_distribution(config::Reader& section) {
  const std::size_t before = section.document().mistakes();
  static const std::vector<std::string> kinds{"fixed", "uniform", "lognormal", "empirical"};
  const std::string kind = section.word({"distribution", "How values are distributed."}, kinds);
  LengthDistribution lengths;
  if (section.document().mistakes() != before) {
    section.allow_unknown();
    return lengths;
  }
  section.alternative("with distribution: fixed", kind == "fixed", [&] {
    lengths = FixedLength{section.integer({"value", "The value of every draw."}, tokens)};
  });
  section.alternative("with distribution: uniform", kind == "uniform",
                      [&] { lengths = read_uniform(section); });
  section.alternative("with distribution: lognormal", kind == "lognormal",
                      [&] { lengths = read_lognormal(section); });
  section.alternative("with distribution: empirical", kind == "empirical",
                      [&] { lengths = read_empirical(section); });
  return lengths;
}

}  // namespace

ReadLengths read_lengths(config::Reader& entry, config::Key key) {
  ReadLengths result;
  result.where = entry.where(key.name);
  result.path = entry.path() + "." + std::string(key.name);
  const bool distribution = entry.is_mapping(key.name);
  entry.alternative("", !distribution,
                    [&] { result.lengths = FixedLength{entry.integer(key, tokens)}; });
  entry.alternative("", distribution, [&] {
    config::Reader section = entry.section(key);
    result.lengths = read_distribution(section);
    for (const std::string_view bound : {"max", "value", "file"})
      if (section.has(bound)) {
        result.where = section.where(bound);
        result.path = section.path() + "." + std::string(bound);
      }
    section.finish();
  });
  return result;
}

}  // namespace tokenline::traffic
