#include <catch2/catch.hpp>

#include "sim/config/reader.hpp"

using namespace tokenline::config;

namespace {

struct Malformed {
  std::string text;
  int line;
  int column;
  std::string fragment;
};

/// What a scenario of the table is read as; every key is optional but `n`.
void read(const std::string& text) {
  constexpr double tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<std::string> choices{"paged", "contiguous"};
  Document document(parse_yaml("m.yaml", text));
  Reader root(document);
  (void)root.integer({"n", "count"}, {1, 64});
  (void)root.real({"r", "share"}, {0.0, 1.0}, 0.5);
  (void)root.real({"open", "may be infinite"},
                  {.min = 0.0, .max = std::numeric_limits<double>::infinity()}, 1.0);
  (void)root.boolean({"b", "switch"}, false);
  (void)root.text({"t", "label"}, "x");
  (void)root.word({"w", "kind"}, choices, "paged");
  (void)root.seconds({"time", "duration"}, {tiny}, "1 ms");
  (void)root.bytes({"size", "memory"}, {.min = 1e6}, "1 GB");
  (void)root.bandwidth({"bw", "link"}, {.max = 1e12}, "1 GB/s");
  (void)root.flop_rate({"flops", "peak"}, {.min = 0.0}, "1 TFLOP/s");
  (void)root.rate({"rate", "arrivals"}, {.min = 0.0}, "1/s");
  (void)root.power({"power", "draw"}, {.min = 0.0}, "1 W");
  auto section = root.section({"s", "section"}, true);
  (void)section.integer({"inner", "count"}, {}, 1);
  section.finish();
  for (auto& item : root.items({"items", "list"}, true)) {
    (void)item.integer({"k", "count"}, {});
    item.finish();
  }
  (void)root.reals({"reals", "list"}, {0.0, 10.0}, true);
  (void)root.texts({"texts", "list"}, true);
  (void)root.assignments({"set", "overrides"}, true);
  root.finish();
  document.throw_if_errors();
}

const std::vector<Malformed> unparsable{
    {"n: 1\nt: \xff\n", 2, 4, "byte 0xff is not valid UTF-8"},
    {"é: \xc0\xaf\n", 1, 4, "byte 0xc0 is not valid UTF-8"},
    {"t: \xed\xa0\x80\n", 1, 4, "not valid UTF-8"},
    {"t: \xf4\x90\x80\x80\n", 1, 4, "not valid UTF-8"},
    {"t: \xe2\x82", 1, 4, "not valid UTF-8"},
    {std::string("n: 1\nt: a\0b\n", 12), 2, 5, "control character U+0000"},
    {"t: a\x1b[0m\n", 1, 5, "control character U+001B"},
    {"n: 1\n\tb: true\n", 2, 1, "hint: YAML does not allow tabs as indentation"},
    {"s:\n\tinner: 1\n", 2, 1, "hint: YAML does not allow tabs as indentation"},
    {"s:\n  inner: 1\n  \tother: 1\n", 3, 3, "hint: YAML does not allow tabs as indentation"},
    {"{\n\t\"n\": 1\n\t\"b\": true}\n", 3, 5, "hint: a bracket opened on line 1 is not closed"},
    {"n: [1,\n2\n", 3, 1, "hint: a bracket opened on line 1 is not closed"},
    {"n: 1\n}\n", 2, 1, "illegal flow end"},
    {"n: 1\n r: 2\n", 2, 3, "illegal map value"},
    {"n: a: b\n", 1, 5, "illegal map value"},
    {"t: 'x' y\n", 1, 8, "end of map not found"},
    {"t: 'open", 1, 9, "illegal EOF in scalar"},
    {"t: 'open''\n", 1, 4, "this quote is never closed"},
    {"t: &a\n  \"open\\\"\n", 1, 4, "this quote is never closed"},
    {"t: \"\\q\"\n", 1, 7, "unknown escape character"},
    {"t: @x\n", 1, 4, "unknown token"},
    {"t: *x\n", 1, 4, "anchor is not defined"},
    {"t: &a [*a]\n", 1, 8, "an alias inside the node it stands for"},
    {"t: !!str 5\n", 1, 4, "tag 'tag:yaml.org,2002:str' is not supported"},
    {"n: 1\nn: 2\n", 2, 1, "key 'n' is given twice"},
    {"s:\n  inner: 1\n  \"inner\": 1\n", 3, 3, "key 'inner' is given twice"},
    {"<<: {n: 1}\n", 1, 1, "merge keys"},
    {"[a]: 1\n", 1, 1, "a key must be text, not a list"},
    {"n: 1\n~: 1\n", 2, 1, "a key must be text, not nothing"},
    {"n: 1\n---\nn: 2\n", 2, 1, "a second document begins here"},
    {"{n: 1}\n{r: 1}\n", 2, 1, "unexpected text after the end of the document"},
};

const std::vector<Malformed> unreadable{
    {"- 1\n", 1, 1, "expected a mapping, got a list"},
    {"n=1\n", 1, 1, "expected a mapping, got 'n=1'"},
    {"r: 1\n", 1, 1, "n: required key is missing"},
    {"n: 010\n", 1, 4, "expected an integer, got '010'"},
    {"n: 0x10\n", 1, 4, "expected an integer, got '0x10'"},
    {"n: 1e1\n", 1, 4, "hint: write 10"},
    {"n: 1__0\n", 1, 4, "expected an integer"},
    {"n: '5'\n", 1, 4, "remove the quotes"},
    {"n: 99999999999999999999\n", 1, 4, "does not fit in 64 bits"},
    {"n: 65\n", 1, 4, "65 is out of range: must be 1 to 64"},
    {"n:\n", 1, 1, "expected an integer, got nothing"},
    {"n: [1]\n", 1, 4, "expected an integer, got a list"},
    {"n: 1\nr: .nan\n", 2, 4, "expected a number, got '.nan'"},
    {"n: 1\nr: nan\n", 2, 4, "expected a number, got 'nan'"},
    {"n: 1\nr: inf\n", 2, 4, "expected a number, got 'inf'"},
    {"n: 1\nopen: .inf\n", 2, 7, "expected a number or inf, got '.inf'"},
    {"n: 1\nr: 1e999\n", 2, 4, "does not fit in 64 bits"},
    {"n: 1\nr: 1.5\n", 2, 4, "1.5 is out of range: must be 0 to 1"},
    {"n: 1\nb: yes\n", 2, 4, "expected true or false, got 'yes'"},
    {"n: 1\nt: {a: 1}\n", 2, 4, "expected a text, got a mapping"},
    {"n: 1\nw: pagd\n", 2, 4, "unknown value 'pagd'"},
    {"n: 1\ntime: 512\n", 2, 7, "a bare number: give a unit, e.g. '512 ms'"},
    {"n: 1\ntime: 5 GB\n", 2, 7, "'5 GB' is no duration: 'GB' is not a unit of one"},
    {"n: 1\ntime: soon\n", 2, 7, "not a number with a unit"},
    {"n: 1\ntime: 0\n", 2, 7, "0 is out of range: must be greater than 0"},
    {"n: 1\ntime: inf s\n", 2, 7, "not a number with a unit"},
    {"n: 1\nsize: 1 kB\n", 2, 7, "must be at least 1 MB"},
    {"n: 1\nbw: 2 TB/s\n", 2, 5, "must be at most 1 TB/s"},
    {"n: 1\nbw: 400 Gb/s\n", 2, 5, "400 Gbit/s is 50 GB/s"},
    {"n: 1\npower: 700 J\n", 2, 8, "units: W kW"},
    {"n: 1\nflops: 1 TFLOPS\n", 2, 8, "units: FLOP/s GFLOP/s TFLOP/s PFLOP/s"},
    {"n: 1\nrate: 35\n", 2, 7, "e.g. '35/s'"},
    {"n: 1\nrate: -1/s\n", 2, 7, "must be at least 0"},
    {"n: 1\ns: 5\n", 2, 4, "s: expected a mapping, got '5'"},
    {"n: 1\ns:\n  iner: 1\n", 3, 3, "s.iner: unknown key"},
    {"n: 1\nitems: x\n", 2, 8, "expected a list, got 'x'"},
    {"n: 1\nitems:\n  - k: 1\n  - 2\n", 4, 5, "items[1]: expected a mapping, got '2'"},
    {"n: 1\nitems:\n  - k: x\n", 3, 8, "items[0].k: expected an integer"},
    {"n: 1\nreals: [1, 20]\n", 2, 12, "reals[1]: 20 is out of range: must be 0 to 10"},
    {"n: 1\ntexts: [a, []]\n", 2, 12, "texts[1]: expected a text, got a list"},
    {"n: 1\nset: {a: [1]}\n", 2, 10, "set.a: expected a single value, got a list"},
    {"n: 1\nzzz: 2\n", 2, 1, "zzz: unknown key\n  hint: one of: "},
};

void check_all(const std::vector<Malformed>& table) {
  for (const auto& row : table) {
    CAPTURE(row.text);
    try {
      read(row.text);
      FAIL_CHECK("accepted");
    } catch (const ConfigError& e) {
      REQUIRE(e.diagnostics().size() == 1);
      CHECK(e.diagnostics()[0].where.file == "m.yaml");
      CHECK(e.diagnostics()[0].where.line == row.line);
      CHECK(e.diagnostics()[0].where.column == row.column);
      CHECK_THAT(e.what(), Catch::Contains(row.fragment));
    }
  }
}

}  // namespace

TEST_CASE("malformed text is one mistake at its line and column", "[config]") {
  check_all(unparsable);
}

TEST_CASE("a value that does not fit its key is one mistake at its line and column", "[config]") {
  check_all(unreadable);
}
