#!/usr/bin/env python3
"""Holds the XML of `tokenline run --junit` against Jenkins' schema junit-10.xsd and against what
GitLab and GitHub's actions read of it.

usage: junit_test.py TOKENLINE
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

TOKENLINE = str(pathlib.Path(sys.argv.pop(1)).resolve())

# junit-10.xsd: what each element may hold, which attributes it needs and which it may have.
SCHEMA = {
    "testsuites": ({"testsuite"}, set(), {"name", "time", "tests", "failures", "errors"}),
    "testsuite": ({"testsuite", "properties", "testcase", "system-out", "system-err"},
                  {"name", "tests", "failures", "errors"},
                  {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file",
                   "log", "url"}),
    "properties": ({"property"}, set(), set()),
    "property": (set(), {"name", "value"}, set()),
    "testcase": ({"skipped", "error", "failure", "system-out", "system-err"}, {"name"},
                 {"time", "classname", "group"}),
    "failure": (set(), set(), {"type", "message"}),
    "error": (set(), set(), {"type", "message"}),
    "system-out": (set(), set(), set()),
}
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")

SCENARIO = """scenario: 'a <b> & "c"'
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 4096}
traffic:
  chat:
    arrival: {process: poisson, rate: 5/s}
    num_prompts: 20
    prompt_tokens: 200
    output_tokens: 20
assert:
  - all.completed == 20
  - p99_ttft(chat) < 0.001 ms
"""


def violations(element):
    """Every way in which an element and those below it break the schema."""
    if element.tag not in SCHEMA:
        return [f"<{element.tag}> is not in the schema"]
    children, required, optional = SCHEMA[element.tag]
    found = [f"<{element.tag}> lacks {a}" for a in required - set(element.attrib)]
    found += [f"<{element.tag}> has {a}" for a in set(element.attrib) - required - optional]
    if not TIME.fullmatch(element.get("time", "0")):
        found.append(f"time {element.get('time')}")
    for child in element:
        if child.tag not in children:
            found.append(f"<{child.tag}> in <{element.tag}>")
        found += violations(child)
    return found


class JUnit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "s.yaml").write_text(SCENARIO)

    def run_tool(self, *options):
        words = [TOKENLINE, "run", "s.yaml", "--quiet", "--junit", "junit.xml", *options]
        code = subprocess.run(words, cwd=self.folder, capture_output=True).returncode
        return code, ElementTree.parse(self.folder / "junit.xml").getroot()

    def check_counts(self, suite):
        cases = suite.findall("testcase")
        for attribute, tag in (("failures", "failure"), ("errors", "error")):
            self.assertEqual(int(suite.get(attribute)), sum(c.find(tag) is not None for c in cases))
        self.assertEqual(int(suite.get("tests")), len(cases))

    def test_a_failed_assert_is_a_failure_with_metric_value_limit_and_line(self):
        code, root = self.run_tool()
        self.assertEqual(code, 1)
        self.assertEqual(violations(root), [])
        suite = root.find("testsuite")
        self.check_counts(suite)
        self.assertEqual(suite.get("name"), 'a <b> & "c"')
        names = [c.get("name") for c in suite.findall("testcase")]
        self.assertEqual(names, ["all.completed == 20", "p99_ttft(chat) < 0.001 ms", "audit"])
        failure = suite.findall("testcase")[1].find("failure")
        self.assertRegex(failure.get("message"),
                         r"^chat\.p99_ttft_ms is [0-9.]+ ms; the limit is p99_ttft\(chat\) < 0.001 ms$")
        self.assertTrue(failure.text.startswith("s.yaml:13: "))

    def test_every_case_has_what_gitlab_and_github_actions_show(self):
        _, root = self.run_tool()
        for case in root.iter("testcase"):
            for attribute in ("name", "classname", "time"):
                self.assertIn(attribute, case.attrib)

    def test_a_baseline_adds_a_case_per_metric(self):
        base = [TOKENLINE, "run", "s.yaml", "--quiet", "--out", "base"]
        subprocess.run(base, cwd=self.folder, capture_output=True)
        code, root = self.run_tool("--set", "assert=[]", "--set", "engine.max_num_seqs=1",
                                   "--baseline", "base", "--tolerance", "5%")
        self.assertEqual(code, 1)
        self.assertEqual(violations(root), [])
        suite = root.find("testsuite")
        self.check_counts(suite)
        worse = {c.get("name") for c in suite.findall("testcase") if c.find("failure") is not None}
        self.assertIn("chat.p99_ttft_ms", worse)
        self.assertNotIn("chat.completed", worse)


if __name__ == "__main__":
    unittest.main()
