#include "sim/report/replayed_class.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tokenline::report {
namespace {

using config::Node;

/// Keys of a class that are not about when its requests come and how long they are.
constexpr std::array<std::string_view, 6> kept_keys{"slo",          "priority",         "timeout",
                                                    "ttft_timeout", "abort_on_timeout", "retry"};

std::string source_yaml(const std::string& class_name, bool arrives) {
  if (arrives)
    return fmt::format("trace: {{file: trace.csv, format: csv, class: '{}'}}\n", class_name);
  return "arrival: {process: poisson, rate: [{at: 1 s, rate: 1/s}]}\nstop: 1 s\n"
         "prompt_tokens: 1\noutput_tokens: 1\n";
}

}  // namespace

Node replayed_class(const std::string& class_name, bool arrives, const Node* stated) {
  Node entry = config::parse_yaml("trace", source_yaml(class_name, arrives));
  for (const std::string_view key : kept_keys)
    if (const Node* value = stated == nullptr ? nullptr : stated->find(key))
      set_value(entry, key, *value);
  return entry;
}

void set_value(Node& mapping, std::string_view key, Node value) {
  if (Node* found = mapping.find(key)) {
    *found = std::move(value);
    return;
  }
  mapping.entries.push_back({.key = std::string(key), .where = {}, .value = std::move(value)});
}

Node text_value(std::string text) {
  Node node;
  node.kind = Node::Kind::scalar;
  node.scalar = std::move(text);
  node.quoted = true;
  return node;
}

}  // namespace tokenline::report
