#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "sim/config/node.hpp"
#include "sim/config/places.hpp"
#include "sim/config/utf8.hpp"

namespace tokenline::config {
namespace {

constexpr std::size_t max_depth = 64;
constexpr std::size_t max_alias_nodes = 100'000;

struct Size {
  std::size_t nodes = 1;
  std::size_t depth = 0;  ///< Levels of collections: 0 for a scalar.
};

void include(Size& all, const Size& child) {
  all.nodes += child.nodes;
  all.depth = std::max(all.depth, child.depth + 1);
}

Size size_of(const Node& node) {
  Size all;
  const bool collection = node.kind == Node::Kind::sequence || node.kind == Node::Kind::mapping;
  all.depth = collection ? 1 : 0;
  for (const auto& item : node.items) include(all, size_of(item));
  for (const auto& entry : node.entries) include(all, size_of(entry.value));
  return all;
}

/// Builds the tree from yaml-cpp's events and gathers what YAML allows and we do not.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(Places& places) : places_(places) { root_.where = places.at(YAML::Mark()); }

  [[nodiscard]] Node take() { return std::move(root_); }
  [[nodiscard]] std::vector<Diagnostic>& errors() { return errors_; }

  /// Records a mistake after which reading on makes no sense.
  [[noreturn]] void stop(const YAML::Mark& mark, std::string message, std::string hint = {}) {
    error(places_.at(mark), std::move(message), std::move(hint));
    throw ConfigError(std::move(errors_));
  }

  /// Records what yaml-cpp refused, and ends the reading.
  [[noreturn]] void refuse(const YAML::Exception& e) {
    const auto says = [&](const char* part) { return e.msg.find(part) != std::string::npos; };
    const std::string message = fmt::format("not valid YAML: {}", e.msg);
    if (const auto tab = places_.indenting_tab(e.mark); tab && !inside_brackets()) {
      error(*tab, message, "YAML does not allow tabs as indentation: use spaces");
      throw ConfigError(std::move(errors_));
    }
    std::string hint;
    if (says("flow not found") && !open_.empty())
      hint = fmt::format("a bracket opened on line {} is not closed", open_.back().mark.line + 1);
    else if (says("end of map not found") || says("end of sequence not found"))
      hint = "check the indentation, and quote text that begins with a quote or a bracket";
    else if (says("illegal map value"))
      hint = "check the indentation, and quote text that contains ': '";
    stop(e.mark, message, std::move(hint));
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      stop(mark, places_.text_at(mark).starts_with("---")
                     ? "a second document begins here: one document per file"
                     : "unexpected text after the end of the document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.where = places_.at(mark);
    // An empty value has no text of its own, and its mark is that of whatever follows.
    const auto text = places_.text_at(mark);
    const bool written = text.starts_with('~') || text.starts_with('n') || text.starts_with('N');
    if (!written && !open_.empty() && open_.back().key) node.where = open_.back().key->where;
    finish(std::move(node), anchor, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    reject_tag(mark, tag);
    if (tag == "!" && opens_endless_quote(places_.text_at(mark)))
      stop(mark, "not valid YAML: this quote is never closed");
    Node node;
    node.kind = Node::Kind::scalar;
    node.where = places_.at(mark);
    node.scalar = value;
    node.quoted = tag == "!";
    finish(std::move(node), anchor, mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias inside the node it stands for");
    charge(mark, found->second.second.nodes);
    if (open_.size() + found->second.second.depth > max_depth) too_deep(mark);
    finish(found->second.first, 0, mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Key {
    std::string text;
    Location where;
    bool usable = true;  ///< False: the entry is an error already and goes nowhere.
  };
  /// A collection whose end has not come yet.
  struct Open {
    Node node;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    std::optional<Key> key;
    std::map<std::string, int> lines;  ///< Of the keys so far.
  };

  [[nodiscard]] bool inside_brackets() const {
    if (open_.empty()) return false;
    const auto text = places_.text_at(open_.back().mark);
    return text.starts_with('{') || text.starts_with('[');
  }

  void error(Location where, std::string message, std::string hint = {}) {
    errors_.push_back({std::move(where), {}, std::move(message), std::move(hint)});
  }

  [[noreturn]] void too_deep(const YAML::Mark& mark) {
    stop(mark, fmt::format("nested more than {} levels deep", max_depth));
  }

  void charge(const YAML::Mark& mark, std::size_t nodes) {
    alias_nodes_ += nodes;
    if (alias_nodes_ > max_alias_nodes)
      stop(mark, fmt::format("aliases expand to more than {} values", max_alias_nodes));
  }

  void reject_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    error(places_.at(mark), fmt::format("tag '{}' is not supported", tag),
          "quote the value if it is text");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    reject_tag(mark, tag);
    if (open_.size() == max_depth) too_deep(mark);
    Open collection;
    collection.node.kind = kind;
    collection.node.where = places_.at(mark);
    collection.mark = mark;
    collection.anchor = anchor;
    open_.push_back(std::move(collection));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done.node), done.anchor, done.mark);
  }

  void finish(Node node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor != 0) {
      const Size size = size_of(node);
      charge(mark, size.nodes);
      anchors_.insert_or_assign(anchor, std::pair(node, size));
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      parent.key = accept_key(parent, std::move(node));
    } else {
      if (parent.key->usable)
        parent.node.entries.push_back(
            {std::move(parent.key->text), std::move(parent.key->where), std::move(node)});
      parent.key.reset();
    }
  }

  Key accept_key(Open& parent, Node node) {
    Key key{std::move(node.scalar), std::move(node.where), false};
    if (node.kind != Node::Kind::scalar) {
      error(key.where, fmt::format("a key must be text, not {}", describe(node)));
      return key;
    }
    if (key.text == "<<" && !node.quoted) {
      error(key.where, "merge keys ('<<') are not supported", "write the keys out");
      return key;
    }
    const auto [first, added] = parent.lines.emplace(key.text, key.where.line);
    key.usable = added;
    if (!added)
      error(key.where, fmt::format("key '{}' is given twice", key.text),
            fmt::format("first given on line {}", first->second));
    return key;
  }

  Places& places_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::pair<Node, Size>> anchors_;
  std::size_t alias_nodes_ = 0;
  int documents_ = 0;
  std::vector<Diagnostic> errors_;
};

}  // namespace

Node parse_yaml(std::string file, std::string_view text) {
  check_utf8(file, text);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Places places(std::move(file), text);
  Builder builder(places);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    builder.refuse(e);
  }
  if (!builder.errors().empty()) throw ConfigError(std::move(builder.errors()));
  return builder.take();
}

}  // namespace tokenline::config
