#include <catch2/catch.hpp>
// rapidcheck's Catch integration needs Catch first.
#include <rapidcheck/catch.h>

#include <set>

#include "sim/config/node.hpp"

using namespace tokenline::config;

namespace {

Node parse(std::string_view text) { return parse_yaml("t.yaml", text); }

std::string encode(char32_t c) {
  const auto tail = [&](unsigned shift) {
    return static_cast<char>(0x80U | ((static_cast<std::uint32_t>(c) >> shift) & 0x3fU));
  };
  const auto head = [&](unsigned prefix, unsigned shift) {
    return static_cast<char>(prefix | (static_cast<std::uint32_t>(c) >> shift));
  };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {head(0xc0, 6), tail(0)};
  if (c < 0x10000) return {head(0xe0, 12), tail(6), tail(0)};
  return {head(0xf0, 18), tail(12), tail(6), tail(0)};
}

/// Any text of Unicode characters, with those that mean something to YAML often.
rc::Gen<std::string> any_text() {
  std::u32string symbols =
      U":#-?,[]{}&*!|>'\"%@`~<= \n\t\r\\/.0123456789aenulrstf\x7f\u0085\u00e9\u2028\ufeff";
  symbols += U'\0';
  const auto special = rc::gen::elementOf(symbols);
  const auto any = rc::gen::map(rc::gen::inRange(0U, 0x110000U - 0x800U), [](unsigned c) {
    return static_cast<char32_t>(c < 0xd800U ? c : c + 0x800U);  // Without the surrogates.
  });
  return rc::gen::map(rc::gen::container<std::vector<char32_t>>(
                          rc::gen::weightedOneOf<char32_t>({{6, special}, {1, any}})),
                      [](const std::vector<char32_t>& characters) {
                        std::string text;
                        for (const char32_t c : characters) text += encode(c);
                        return text;
                      });
}

rc::Gen<std::string> plain_text() {
  return rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcxyz0123456789_"))));
}

Node any_node(int depth) {
  Node node;
  switch (*rc::gen::inRange(0, depth > 0 ? 5 : 3)) {
    case 0:
      break;
    case 1:
      node.kind = Node::Kind::scalar;
      node.scalar = *any_text();
      node.quoted = true;
      break;
    case 2:
      node.kind = Node::Kind::scalar;
      node.scalar = *plain_text();
      RC_PRE(node.scalar != "null");
      break;
    case 3:
      node.kind = Node::Kind::sequence;
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) node.items.push_back(any_node(depth - 1));
      break;
    default:
      node.kind = Node::Kind::mapping;
      std::set<std::string> keys;
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
        const std::string key = *any_text();
        if (keys.insert(key).second) node.entries.push_back({key, {}, any_node(depth - 1)});
      }
  }
  return node;
}

}  // namespace

TEST_CASE("what is emitted parses back to the same tree", "[config][property]") {
  rc::prop("for any tree of any texts", [] {
    const Node tree = any_node(4);
    const std::string text = emit_yaml(tree);
    RC_LOG() << text;
    RC_ASSERT(parse(text) == tree);
    RC_ASSERT(emit_yaml(parse(text)) == text);
  });
}

TEST_CASE("any text emitted as a scalar reads back as it is", "[config][property]") {
  rc::prop("for any text", [] {
    const std::string text = *any_text();
    const Node back = parse(emit_scalar(text, false));
    RC_ASSERT(back.kind == Node::Kind::scalar);
    RC_ASSERT(back.scalar == text);
  });
}
