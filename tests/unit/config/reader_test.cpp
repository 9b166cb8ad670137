#include "sim/config/reader.hpp"

#include <catch2/catch.hpp>

#include "sim/base/check.hpp"

using namespace tokenline;
using namespace tokenline::config;

namespace {

Node parse(std::string_view text) { return parse_yaml("t.yaml", text); }

std::string report(Document& document) {
  try {
    document.throw_if_errors();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return {};
}

const std::vector<std::string> layouts{"paged", "contiguous"};

/// Reads a little scenario with one key of every kind; returns what was read as one text.
std::string read_scenario(Document& document) {
  std::string seen;
  const auto note = [&](const auto& value) { seen += fmt::format("{};", value); };
  Reader root(document);
  note(root.integer({"seed", "random seed"}, {.min = 0}, 42));
  note(root.real({"share", "of memory"}, {0.0, 1.0}, 0.9));
  note(root.real({"burst", "shape"}, {.min = 0.0, .max = std::numeric_limits<double>::infinity()},
                 std::numeric_limits<double>::infinity()));
  note(root.boolean({"chunked", "prefill in chunks"}, true));
  note(root.text({"label", "free text"}, ""));
  note(root.word({"layout", "of KV"}, layouts, "paged"));
  note(root.seconds({"gap", "host gap"}, {.min = 0.0}, "0.5 ms").value());
  note(root.bytes({"reserve", "kept free"}, {.min = 0.0}, "2 GB").value());
  note(root.bandwidth({"link", "network"}, {.min = 0.0}, "50 GB/s").value());
  note(root.flop_rate({"peak", "compute"}, {.min = 0.0}, "989 TFLOP/s").value());
  note(root.rate({"rate", "arrivals"}, {.min = 0.0}, "35/s").value());
  if (const auto limit = root.optional_integer({"limit", "at most"}, {1, 99})) note(*limit);
  if (const auto scale = root.optional_real({"scale", "factor"}, {0.0, 9.0})) note(*scale);
  if (const auto only = root.optional_text({"only", "of these"})) note(*only);
  if (const auto stop = root.optional_seconds({"stop", "the end"}, {.min = 0.0}))
    note(stop->value());
  if (auto window = root.optional_section({"window", "the part measured"})) {
    note(window->seconds({"from", "its start"}, {.min = 0.0}, "0 s").value());
    window->finish();
  }
  auto engine = root.section({"engine", "the engine"}, true);
  note(engine.integer({"block_size", "tokens per block"}, {1, 1024}, 16));
  engine.finish();
  for (auto& [name, reader] : root.named_sections({"traffic", "classes"}, true)) {
    note(name);
    note(reader.integer({"prompt", "tokens"}, {.min = 1}));
    reader.finish();
  }
  for (auto& fault : root.items({"faults", "what breaks"}, true)) {
    note(fault.seconds({"at", "when"}, {.min = 0.0}).value());
    note(fault.path());
    fault.finish();
  }
  for (const double value : root.reals({"quantiles", "to report"}, {0.0, 1.0}, true)) note(value);
  for (const auto& text : root.texts({"tags", "labels"}, true)) note(text);
  for (const auto& [name, value] : root.assignments({"set", "overrides"}, true)) {
    note(name);
    note(value);
  }
  root.finish();
  return seen;
}

constexpr std::string_view full_scenario =
    "seed: 1_000\n"
    "share: 0.25\n"
    "burst: inf\n"
    "chunked: false\n"
    "label: 'null'\n"
    "layout: contiguous\n"
    "gap: \"512 us\"\n"
    "reserve: 0\n"
    "link: 400 GB/s\n"
    "peak: 312 TFLOP/s\n"
    "rate: 3/min\n"
    "limit: 7\n"
    "scale: 1.5\n"
    "only: ''\n"
    "stop: 1 min\n"
    "window:\n"
    "engine: {block_size: 32}\n"
    "traffic: {chat: {prompt: 200}, pdf: {prompt: 16_384}}\n"
    "faults: [{at: 5 s}, {at: 1 min}]\n"
    "quantiles: [0.5, 0.99]\n"
    "tags: [a, '5']\n"
    "set: {engine.block_size: 64, label: 'a: b', off: ~}\n";

}  // namespace

TEST_CASE("values are read as given, and as the fallback where they are not", "[config]") {
  Document given(parse(full_scenario));
  CHECK(read_scenario(given) ==
        "1000;0.25;inf;false;null;contiguous;0.000512;0;400000000000;312000000000000;0.05;7;1.5;;"
        "60;0;32;"
        "chat;200;pdf;16384;5;faults[0];60;faults[1];0.5;0.99;a;5;"
        "engine.block_size;64;label;\"a: b\";off;null;");
  CHECK(given.ok());
  Document absent(parse(""));
  CHECK(read_scenario(absent) ==
        "42;0.9;inf;true;;paged;0.0005;2000000000;50000000000;989000000000000;35;16;");
  CHECK(absent.ok());
}

TEST_CASE("the resolved document reads again to the same values and resolves to itself",
          "[config]") {
  for (const auto text : {std::string_view(), full_scenario}) {
    Document first(parse(text));
    const std::string values = read_scenario(first);
    const std::string resolved = emit_yaml(first.resolved());
    CAPTURE(resolved);
    Document second(parse(resolved));
    CHECK(read_scenario(second) == values);
    CHECK(second.ok());
    CHECK(emit_yaml(second.resolved()) == resolved);
  }
}

TEST_CASE("the resolved document keeps the order of asking and the user's spelling", "[config]") {
  Document document(parse("b: 16_384\ns: {y: 5 s}\n"));
  Reader root(document);
  (void)root.integer({"a", ""}, {}, 7);
  auto section = root.section({"s", ""});
  (void)section.seconds({"x", ""}, {}, "512 ms");
  (void)root.integer({"b", ""}, {});
  (void)section.seconds({"y", ""}, {});
  CHECK(emit_yaml(document.resolved()) == "a: 7\ns:\n  x: 512 ms\n  y: 5 s\nb: 16_384\n");
}

TEST_CASE("every mistake of a document comes out at once, in the order of the text", "[config]") {
  Document document(parse("seed: x\ncluster:\n  replicsa: 4\n  layout: pagd\nextra: 1\n"));
  Reader root(document);
  auto cluster = root.section({"cluster", ""});
  (void)cluster.integer({"replicas", ""}, {1, 64});
  (void)cluster.word({"layout", ""}, layouts);
  cluster.finish();
  (void)root.integer({"seed", ""}, {});
  root.finish();
  CHECK(report(document) ==
        "t.yaml:1:7: error: seed: expected an integer, got 'x'\n"
        "t.yaml:3:3: error: cluster.replicas: required key is missing\n"
        "t.yaml:3:3: error: cluster.replicsa: unknown key\n"
        "  hint: did you mean 'replicas'?\n"
        "t.yaml:4:11: error: cluster.layout: unknown value 'pagd'\n"
        "  hint: did you mean 'paged'?\n"
        "t.yaml:5:1: error: extra: unknown key\n"
        "  hint: one of: cluster, seed");
}

TEST_CASE("after a mistake reading goes on with the fallback, else the value nearest to 0",
          "[config]") {
  Document document(parse("a: x\nb: x\nc: x\nd: x\ne: [1, x, 3]\n"));
  Reader root(document);
  CHECK(root.integer({"a", ""}, {1, 9}, 5) == 5);
  CHECK(root.integer({"b", ""}, {3, 9}) == 3);
  CHECK(root.seconds({"c", ""}, {-2.0, -1.0}).value() == -1.0);
  CHECK(root.word({"d", ""}, layouts) == "paged");
  CHECK(root.reals({"e", ""}, {}) == std::vector<double>{1.0, 3.0});
  CHECK_FALSE(root.boolean({"missing", ""}));
  CHECK_FALSE(document.ok());
}

TEST_CASE("a missing section is one mistake, not one for each key in it", "[config]") {
  Document document(parse("a: 1\nwrong: 5\n"));
  Reader root(document);
  for (const auto* name : {"gone", "wrong"}) {
    auto section = root.section({name, ""});
    (void)section.integer({"x", ""}, {});
    auto inner = section.section({"inner", ""});
    (void)inner.text({"y", ""});
  }
  CHECK(report(document) ==
        "t.yaml:1:1: error: gone: required key is missing\n"
        "t.yaml:2:8: error: wrong: expected a mapping, got '5'");
}

TEST_CASE("an optional section that is absent reads as empty", "[config]") {
  Document document(parse("a: {b: {}}\n"));
  Reader root(document);
  auto a = root.section({"a", ""});
  auto c = a.section({"c", ""}, true);
  CHECK(c.integer({"x", ""}, {}, 3) == 3);
  CHECK(document.ok());
  (void)c.integer({"y", ""}, {});
  CHECK(report(document) == "t.yaml:1:4: error: a.c.y: required key is missing");
}

TEST_CASE("a collection given as nothing is empty", "[config]") {
  Document document(parse("a:\nb:\nc:\nd:\ne:\n"));
  Reader root(document);
  CHECK(root.section({"a", ""}).integer({"x", ""}, {}, 1) == 1);
  CHECK(root.items({"b", ""}).empty());
  CHECK(root.reals({"c", ""}, {}).empty());
  CHECK(root.named_sections({"d", ""}).empty());
  CHECK(root.assignments({"e", ""}).empty());
  CHECK(document.ok());
}

TEST_CASE("asking twice for a key, finishing twice and an invalid fallback are our bugs",
          "[config]") {
  Document document(parse("a: 1\n"));
  Reader root(document);
  CHECK(root.has("a"));
  CHECK_FALSE(root.is_mapping("a"));
  CHECK(root.integer({"a", ""}, {}) == 1);
  CHECK_THROWS_AS(root.integer({"a", ""}, {}), InternalError);
  CHECK_THROWS_AS(root.integer({"b", ""}, {1, 2}, 3), InternalError);
  CHECK_THROWS_AS(root.seconds({"c", ""}, {}, "5"), InternalError);
  CHECK_THROWS_AS(root.word({"d", ""}, layouts, "x"), InternalError);
  root.finish();
  CHECK_THROWS_AS(root.finish(), InternalError);
}

TEST_CASE("looking at a key's kind is not asking for it", "[config]") {
  Document document(parse("m: {a: 1}\nl: [1]\nn: ~\ns: 1\n"));
  Reader root(document);
  CHECK(root.is_mapping("m"));
  CHECK(root.is_sequence("l"));
  CHECK(root.is_null("n"));
  CHECK(root.has("n"));
  CHECK_FALSE(root.has("gone"));
  CHECK_FALSE(root.is_null("gone"));
  CHECK_FALSE(root.is_null("s"));
  root.finish();
  CHECK_FALSE(document.ok());
  CHECK(document.resolved().entries.empty());
  CHECK(document.keys().empty());
}

TEST_CASE("a file that is not ours may have keys nobody asks for, and they are not resolved",
          "[config]") {
  Document document(
      parse(R"({"hidden_size": 8192, "architectures": ["X"], "sliding_window": null})"));
  Reader root(document);
  root.allow_unknown();
  CHECK(root.integer({"hidden_size", ""}, {1}) == 8192);
  root.finish();
  CHECK(document.ok());
  CHECK(emit_yaml(document.resolved()) == "hidden_size: 8192\n");
}

TEST_CASE("a mistake of meaning stands at the value, or at the mapping without it", "[config]") {
  Document document(parse("m:\n  tp: 3\n"));
  Reader root(document);
  auto m = root.section({"m", ""});
  (void)m.integer({"tp", ""}, {});
  m.error("tp", "does not divide 64 heads", "use 4");
  m.error("pp", "is needed");
  m.error("", "makes no sense");
  CHECK(m.path() == "m");
  CHECK(m.where("tp").column == 7);
  CHECK(report(document) ==
        "t.yaml:2:3: error: m.pp: is needed\n"
        "t.yaml:2:3: error: m: makes no sense\n"
        "t.yaml:2:7: error: m.tp: does not divide 64 heads\n"
        "  hint: use 4");
}

TEST_CASE("an override nobody asks for is an unknown key at the override", "[config]") {
  Node node = parse("engine: {block_size: 16}\n");
  apply_override(node, "engine.blok_size=7");
  Document document(std::move(node));
  Reader root(document);
  auto engine = root.section({"engine", ""});
  (void)engine.integer({"block_size", ""}, {});
  engine.finish();
  root.finish();
  CHECK(report(document) ==
        "--set engine.blok_size=7:1:1: error: engine.blok_size: unknown key\n"
        "  hint: did you mean 'block_size'?");
}

TEST_CASE("an empty document yields every key for description, whatever is required", "[config]") {
  Document document(Node{}, Document::Purpose::describe);
  (void)read_scenario(document);
  std::vector<std::string> paths;
  for (const auto& key : document.keys()) paths.push_back(key.path);
  CHECK(paths == std::vector<std::string>{"seed",
                                          "share",
                                          "burst",
                                          "chunked",
                                          "label",
                                          "layout",
                                          "gap",
                                          "reserve",
                                          "link",
                                          "peak",
                                          "rate",
                                          "limit",
                                          "scale",
                                          "only",
                                          "stop",
                                          "window",
                                          "window.from",
                                          "engine",
                                          "engine.block_size",
                                          "traffic",
                                          "traffic.<name>.prompt",
                                          "faults",
                                          "faults[].at",
                                          "quantiles",
                                          "tags",
                                          "set"});
  const auto& block_size = document.keys()[18];
  CHECK(block_size.type == "integer");
  CHECK(block_size.range == "1 to 1024");
  CHECK(block_size.standard == "16");
  CHECK(block_size.doc == "tokens per block");
  const auto& gap = document.keys()[6];
  CHECK(gap.type == "duration");
  CHECK(gap.unit == "512 ms");
  CHECK(gap.range == "at least 0");
  CHECK(gap.standard == "0.5 ms");
  CHECK(document.keys()[5].type == "one of: paged, contiguous");
  CHECK(document.keys()[4].standard == "\"\"");
  const auto& prompt = document.keys()[20];
  CHECK(prompt.path == "traffic.<name>.prompt");
  CHECK(prompt.required);
  CHECK(prompt.standard.empty());
  CHECK_FALSE(block_size.required);
}

TEST_CASE("a key read in many sections is described once", "[config]") {
  Document document(parse("t: {a: {x: 1}, b: {x: 2}}\n"));
  Reader root(document);
  for (auto& [name, reader] : root.named_sections({"t", ""})) {
    (void)reader.integer({"x", ""}, {});
    CHECK(reader.path() == "t." + name);
  }
  REQUIRE(document.keys().size() == 2);
  CHECK(document.keys()[1].path == "t.<name>.x");
}
