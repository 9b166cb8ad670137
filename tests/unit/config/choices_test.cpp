// Keys that may be absent, keys that go with a choice, and what describes them.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/base/check.hpp"
#include "sim/config/reader.hpp"

using namespace tokenline;
using namespace tokenline::config;

namespace {

Node parse_choices(std::string_view text) { return parse_yaml("dir/t.yaml", text); }

std::string choices_report(Document& document) {
  try {
    document.throw_if_errors();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return {};
}

/// A length: a number, or a mapping with one of two kinds of bounds.
std::string read_length(Document& document) {
  const std::vector<std::string> kinds{"fixed", "uniform"};
  std::string read;
  Reader root(document);
  const bool mapping = root.is_mapping("length");
  root.alternative("", !mapping, [&] {
    read += fmt::format("plain {};", root.integer({"length", "as a number"}, {1, 9}));
  });
  root.alternative("", mapping, [&] {
    Reader length = root.section({"length", "as a mapping"});
    const std::string kind = length.word({"kind", "which"}, kinds);
    length.alternative("with kind: fixed", kind == "fixed", [&] {
      read += fmt::format("fixed {};", length.integer({"max", "the length"}, {1, 9}));
    });
    length.alternative("with kind: uniform", kind == "uniform", [&] {
      read += fmt::format("uniform {};", length.integer({"max", "inclusive"}, {1, 9}, 5));
    });
    length.finish();
  });
  root.finish();
  return read;
}

}  // namespace

TEST_CASE("an absent optional key is nothing, and not in the resolved document", "[config]") {
  Document document(parse_choices("a: 1\n"));
  Reader root(document);
  CHECK(root.integer({"a", ""}, {}) == 1);
  CHECK_FALSE(root.optional_integer({"limit", ""}, {1, 9}));
  CHECK_FALSE(root.optional_real({"scale", ""}, {}));
  CHECK_FALSE(root.optional_text({"only", ""}));
  CHECK_FALSE(root.optional_seconds({"stop", ""}, {}));
  CHECK_FALSE(root.optional_section({"window", ""}));
  root.finish();
  CHECK(document.ok());
  CHECK(emit_yaml(document.resolved()) == "a: 1\n");
  for (const KeyInfo& key : document.keys()) {
    CHECK(key.required == (key.path == "a"));
    CHECK(key.standard.empty());
  }
}

TEST_CASE("a wrong optional key is one mistake and nothing", "[config]") {
  Document document(parse_choices("limit: 10\nscale: x\nonly: [a]\nstop: 5\nwindow: 3\n"));
  Reader root(document);
  CHECK_FALSE(root.optional_integer({"limit", ""}, {1, 9}));
  CHECK_FALSE(root.optional_real({"scale", ""}, {}));
  CHECK_FALSE(root.optional_text({"only", ""}));
  CHECK_FALSE(root.optional_seconds({"stop", ""}, {}));
  auto window = root.optional_section({"window", ""});
  REQUIRE(window);
  (void)window->integer({"inside", ""}, {});
  CHECK(document.mistakes() == 5);
  CHECK(choices_report(document) ==
        "dir/t.yaml:1:8: error: limit: 10 is out of range: must be 1 to 9\n"
        "dir/t.yaml:2:8: error: scale: expected a number, got 'x'\n"
        "dir/t.yaml:3:7: error: only: expected a text, got a list\n"
        "dir/t.yaml:4:7: error: stop: '5' is a bare number: give a unit, e.g. '512 ms'\n"
        "  hint: units: ns us ms s min h\n"
        "dir/t.yaml:5:9: error: window: expected a mapping, got '3'");
}

TEST_CASE("a misspelt optional key gets a did-you-mean", "[config]") {
  Document document(parse_choices("limt: 3\n"));
  Reader root(document);
  (void)root.optional_integer({"limit", ""}, {});
  root.finish();
  CHECK(choices_report(document) ==
        "dir/t.yaml:1:1: error: limt: unknown key\n  hint: did you mean 'limit'?");
}

TEST_CASE("of alternatives the chosen one is read, and keys of the others are unknown",
          "[config]") {
  const auto read = [](std::string_view text) {
    Document document(parse_choices(text));
    std::string values = read_length(document);
    return values + choices_report(document);
  };
  CHECK(read("length: 7") == "plain 7;");
  CHECK(read("length: {kind: fixed, max: 3}") == "fixed 3;");
  CHECK(read("length: {kind: uniform}") == "uniform 5;");
  CHECK_THAT(read("length: {kind: fixed}"), Catch::Contains("length.max: required key is missing"));
}

TEST_CASE("for description every alternative is read, and says when it applies", "[config]") {
  Document document(Node{}, Document::Purpose::describe);
  CHECK(read_length(document) == "plain 1;fixed 1;uniform 5;");
  std::string all;
  for (const KeyInfo& key : document.keys())
    all += fmt::format("{}|{}|{}|{}|{}\n", key.path, key.type, key.required, key.when, key.doc);
  CHECK(all ==
        "length|integer|true||as a number\n"
        "length|mapping|true||as a mapping\n"
        "length.kind|one of: fixed, uniform|true||which\n"
        "length.max|integer|true|with kind: fixed|the length\n"
        "length.max|integer|false|with kind: uniform|inclusive\n");
}

TEST_CASE("the condition of an alternative ends with it, and an unnamed one inside keeps it",
          "[config]") {
  Document document(Node{}, Document::Purpose::describe);
  Reader root(document);
  root.alternative("with x", false, [&] {
    (void)root.optional_text({"a", ""});
    root.alternative("", false, [&] { (void)root.optional_text({"b", ""}); });
    root.alternative("with y", false, [&] { (void)root.optional_text({"c", ""}); });
    (void)root.optional_text({"d", ""});
  });
  (void)root.optional_text({"e", ""});
  std::vector<std::string> conditions;
  for (const KeyInfo& key : document.keys()) conditions.push_back(key.when);
  CHECK(conditions == std::vector<std::string>{"with x", "with x", "with y", "with x", ""});
}

TEST_CASE("a document read for description has no mistakes", "[config]") {
  Document document(Node{}, Document::Purpose::describe);
  Reader root(document);
  CHECK(root.integer({"missing", ""}, {3, 9}) == 3);
  root.error("missing", "makes no sense");
  CHECK(document.ok());
  CHECK(document.mistakes() == 0);
}

TEST_CASE("a default that depends on other values is described in words", "[config]") {
  Document document(parse_choices(""));
  Reader root(document);
  CHECK(root.integer({"length", "", "the positions of the model"}, {}, 4096) == 4096);
  CHECK(document.keys()[0].standard == "the positions of the model");
  CHECK(emit_yaml(document.resolved()) == "length: 4096\n");
}

TEST_CASE("a data file is found from the folder of the file that names it", "[config]") {
  Node node = parse_choices("a: x.csv\nb: y.csv\n");
  apply_override(node, "b=z.csv");
  merge_defaults(node, parse_yaml("presets/p.yaml", "c: x.csv\n"));
  Document document(std::move(node));
  Reader root(document);
  CHECK(root.file_path("a", "x.csv") == "dir/x.csv");
  CHECK(root.file_path("b", "z.csv") == "dir/z.csv");
  CHECK(root.file_path("c", "x.csv") == "presets/x.csv");
  CHECK(root.file_path("a", "../x.csv") == "dir/../x.csv");
  CHECK(root.file_path("a", "/tmp/x.csv") == "/tmp/x.csv");
}

TEST_CASE("a required text must not be empty, one with a default may be", "[config]") {
  Document document(parse_yaml("m.yaml", "name: ''\nnote: ''\n"));
  Reader root(document);
  CHECK(root.text({"name", "name"}).empty());
  CHECK(root.text({"note", "remark"}, "none").empty());
  CHECK_THROWS_WITH(document.throw_if_errors(), "m.yaml:1:7: error: name: must not be empty");
}
