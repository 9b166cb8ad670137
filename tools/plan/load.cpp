#include "tools/plan/load.hpp"

#include <fmt/format.h>

#include <array>

#include "sim/config/numbers.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::plan {
namespace {

using config::Node;

/// The keys of a rate that changes with time which are rates themselves.
constexpr std::array<std::string_view, 4> rate_keys{"rate", "mean", "base", "peak"};

void scale_rate(Node& rate, double factor) {
  if (const auto value = config::parse_rate(rate.scalar))
    rate.scalar = fmt::format("{}/s", factor * value->value());
}

/// A number, a list of points, or a shape.
void scale_rates(Node& rate, double factor) {
  if (rate.kind == Node::Kind::scalar) scale_rate(rate, factor);
  for (Node& point : rate.items)
    if (Node* value = point.find("rate")) scale_rate(*value, factor);
  for (const std::string_view key : rate_keys)
    if (Node* value = rate.find(key)) scale_rate(*value, factor);
}

/// YAML on one line, as an override takes it.
std::string flow(const Node& node) {
  if (node.kind == Node::Kind::scalar) return config::emit_scalar(node.scalar, node.quoted);
  std::string text;
  for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + flow(item);
  if (node.kind == Node::Kind::sequence) return "[" + text + "]";
  for (const Node::Entry& entry : node.entries)
    text += (text.empty() ? "" : ", ") + config::emit_scalar(entry.key, false) + ": " +
            flow(entry.value);
  return "{" + text + "}";
}

bool is_closed(const Node& traffic_class) {
  const Node* arrival = traffic_class.find("arrival");
  const Node* process = arrival == nullptr ? nullptr : arrival->find("process");
  return process != nullptr && process->scalar == "closed_loop";
}

}  // namespace

std::vector<std::string> scaled_load(const Node& resolved, double factor) {
  std::vector<std::string> overrides;
  const Node* traffic = resolved.find("traffic");
  if (traffic == nullptr || factor == 1.0) return overrides;
  for (const Node::Entry& entry : traffic->entries) {
    const Node* arrival = entry.value.find("arrival");
    if (const Node* given = arrival == nullptr ? nullptr : arrival->find("rate")) {
      Node rate = *given;
      scale_rates(rate, factor);
      overrides.push_back(fmt::format("traffic.{}.arrival.rate={}", entry.key, flow(rate)));
    }
    if (const Node* trace = entry.value.find("trace")) {
      const Node* given = trace->find("speedup");
      const auto speedup = config::parse_real(given == nullptr ? "1" : given->scalar);
      overrides.push_back(
          fmt::format("traffic.{}.trace.speedup={}", entry.key, factor * speedup.value));
    }
  }
  return overrides;
}

std::string unscalable(const Node& resolved) {
  const Node* traffic = resolved.find("traffic");
  if (traffic == nullptr) return {};
  for (const Node::Entry& entry : traffic->entries)
    if (is_closed(entry.value))
      return fmt::format("class '{}' is a closed loop: it has clients and no rate to multiply",
                         entry.key);
  return {};
}

}  // namespace tokenline::plan
