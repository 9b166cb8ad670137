#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "sim/report/figures.hpp"
#include "tools/cli/roofline_report.hpp"

namespace tokenline::cli {
namespace {

constexpr double size = 420.0;  ///< Pixels of either axis.
constexpr double left = 84.0;
constexpr double top = 48.0;
constexpr double legend = 400.0;
constexpr double bottom = 56.0;
constexpr std::array<std::string_view, 8> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#7f4f24", "#444444"};
constexpr std::string_view style =
    "text{font:12px sans-serif;fill:#222}.grid{stroke:#ddd}.roof{stroke:#222;stroke-width:2;"
    "fill:none}";

/// An operator under the roofs.
struct Point {
  std::string name;
  double intensity;
  double rate;
};

std::vector<Point> points(const RooflineReport& report) {
  std::vector<Point> all;
  const auto add = [&](const std::string& name, const hw::Price& price) {
    if (price.flops.value() > 0.0 && price.bytes.value() > 0.0)
      all.push_back(
          {name, (price.flops / price.bytes).value(), (price.flops / price.time).value()});
  };
  for (const hw::OperatorPrice& row : report.rows) add(row.name, row.price);
  add("step", report.total);
  return all;
}

/// Whole decades around some values, over `size` pixels.
class Axis {
 public:
  Axis(double least, double most)
      : low_(std::floor(std::log10(least))),
        high_(std::max(low_ + 1.0, std::ceil(std::log10(most)))) {}
  [[nodiscard]] double pixels(double value) const {
    return size * (std::log10(value) - low_) / (high_ - low_);
  }
  [[nodiscard]] double first() const { return std::pow(10.0, low_); }
  [[nodiscard]] double last() const { return std::pow(10.0, high_); }
  [[nodiscard]] std::vector<double> decades() const {
    std::vector<double> all;
    for (double at = low_; at <= high_; at += 1.0) all.push_back(std::pow(10.0, at));
    return all;
  }

 private:
  double low_;
  double high_;
};

std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
                     words);
}

std::string frame(const Axis& across, const Axis& up) {
  std::string out;
  for (const double value : across.decades()) {
    const double x = across.pixels(value);
    out += fmt::format(R"(<path class="grid" d="M{:.1f} 0v{}"/>)", x, size);
    out += text(x, size + 18.0, "middle", fmt::format("{:g}", value));
  }
  for (const double value : up.decades()) {
    const double y = size - up.pixels(value);
    out += fmt::format(R"(<path class="grid" d="M0 {:.1f}h{}"/>)", y, size);
    out += text(-6.0, y + 4.0, "end", fmt::format("{:g} T", value / 1e12));
  }
  return out + text(size / 2.0, size + 42.0, "middle", "FLOPs per byte of HBM") +
         fmt::format(
             R"x(<text transform="translate(-62 {}) rotate(-90)" text-anchor="middle">FLOP/s</text>)x",
             size / 2.0);
}

/// The slope of the bandwidth up to the ridge, and the peak from there on.
std::string roof(const hw::Gpu& gpu, double peak, const Axis& across, const Axis& up) {
  const double bandwidth = gpu.bandwidth.value();
  const double start = std::max(across.first(), up.first() / bandwidth);
  return fmt::format(R"(<path class="roof" d="M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}"/>)",
                     across.pixels(start), size - up.pixels(start * bandwidth),
                     across.pixels(peak / bandwidth), size - up.pixels(peak), size,
                     size - up.pixels(peak));
}

std::string escaped(const std::string& words) {
  std::string out;
  for (const char c : words)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string dot(std::size_t index, double x, double y, const std::string& label) {
  const std::string_view colour = colours.at(index % colours.size());
  const double row = 8.0 + 20.0 * static_cast<double>(index);
  return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="5" fill="{}"/>)", x, y, colour) +
         fmt::format(R"(<circle cx="{}" cy="{}" r="5" fill="{}"/>)", size + 24.0, row, colour) +
         text(size + 36.0, row + 4.0, "start", label);
}

}  // namespace

std::string roofline_svg(const RooflineReport& report) {
  const hw::Gpu& gpu = report.cost.setup().gpu;
  std::set<double> peaks{gpu.peak_16bit.value()};
  for (const hw::OperatorPrice& row : report.rows)
    if (std::isfinite(row.peak.value())) peaks.insert(row.peak.value());
  const std::vector<Point> all = points(report);
  const auto [least, most] = std::ranges::minmax(all, {}, &Point::intensity);
  const double slowest = std::ranges::min(all, {}, &Point::rate).rate;
  const Axis across(std::min(0.1, least.intensity),
                    std::max(most.intensity, 2.0 * *peaks.rbegin() / gpu.bandwidth.value()));
  const Axis up(slowest, *peaks.rbegin());

  std::string inside = frame(across, up);
  for (const double peak : peaks) inside += roof(gpu, peak, across, up);
  for (std::size_t i = 0; i < all.size(); ++i)
    inside += dot(i, across.pixels(all[i].intensity), size - up.pixels(all[i].rate),
                  fmt::format("{}: {} FLOP/B, {} TFLOP/s", escaped(all[i].name),
                              report::figure_text(all[i].intensity),
                              report::figure_text(all[i].rate / 1e12)));
  const double width = left + size + legend;
  const double height = top + size + bottom;
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">)"
      R"x(<style>{2}</style>{3}<g transform="translate({4} {5})">{6}</g></svg>)x"
      "\n",
      width, height, style, text(left, 26.0, "start", escaped(roofline_title(report))), left, top,
      inside);
}

}  // namespace tokenline::cli
