#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"

namespace tokenline {

/// Named factories for one policy interface, in name order, which make a policy of a Setup where
/// the kind has one. A value, not a singleton: a test can build its own.
template <class Interface, class... Setup>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Interface>(const Setup&...)>;

  struct Entry {
    std::string summary;
    std::string source;  ///< The paper or engine it follows.
    Factory make;
  };

  /// Throws InternalError on a second policy of the same name.
  void add(std::string name, Entry entry) {
    const auto [where, added] = entries_.emplace(std::move(name), std::move(entry));
    TOKENLINE_CHECK(added, "policy '{}' registered twice", where->first);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    out.reserve(entries_.size());
    for (const auto& [name, entry] : entries_) out.push_back(name);
    return out;
  }

  /// The entry of a registered name; an unknown one is the caller's bug.
  [[nodiscard]] const Entry& at(const std::string& name) const {
    const auto found = entries_.find(name);
    TOKENLINE_CHECK(found != entries_.end(), "no policy '{}'", name);
    return found->second;
  }

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace tokenline
