#!/usr/bin/env python3
"""report.html in a real browser: it loads without an error or a request, says what summary.json
says, and can be used by mouse, by keyboard, on a phone, in light and in dark.

usage: report_test.py TOKENLINE [--screenshots FOLDER]
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import chromium

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTILE = "<img src=x onerror=document.title=1>"
SCENARIO = f"""scenario: browser
description: "{HOSTILE}"
model: llama-3.1-8b
cluster: {{gpu: h100_sxm, replicas: 2}}
engine: {{preset: vllm-v1, max_model_len: 8192, max_num_seqs: 16}}
measure: {{from: 2 s, to: 18 s}}
faults:
  - {{kind: instance_crash, replica: 1, at: 6 s, restart: 2 s}}
traffic:
  chat:
    arrival: {{process: poisson, rate: 30/s}}
    stop: 20 s
    prompt_tokens: {{distribution: uniform, min: 100, max: 2000}}
    output_tokens: {{distribution: uniform, min: 20, max: 200}}
    slo: {{ttft: 200 ms, tpot: 20 ms}}
  batch:
    arrival: {{process: constant, rate: 1/s}}
    stop: 20 s
    prompt_tokens: 6000
    output_tokens: 20
assert: [all.p99_ttft_ms < 100]
"""
STUDY = f"""study: browser
base: browser.yaml
columns: [all.p99_ttft_ms, all.failed]
rank_by: all.p99_ttft_ms
variants:
  - {{name: as it is}}
  - {{name: "{HOSTILE}", set: {{cluster.replicas: 4}}, note: twice as many}}
  - {{name: no limit, set: {{engine.max_num_seqs: 256}}}}
claims:
  - {{what: more replicas, variant: "{HOSTILE}", metric: all.p99_ttft_ms, at_least: 100000, why: "{HOSTILE}"}}
"""


def tokenline(*words):
    ran = subprocess.run([BINARY, *map(str, words)], stdout=subprocess.DEVNULL, check=False)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"tokenline {words}: exit code {ran.returncode}")


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = cls.folder = pathlib.Path(cls.scratch.name)
        (folder / "browser.yaml").write_text(SCENARIO)
        (folder / "study.yaml").write_text(STUDY)
        tokenline("run", folder / "browser.yaml", "--out", folder / "out", "--report",
                  folder / "run.html", "--set", "engine.block_size=32")
        tokenline("compare", folder / "study.yaml", "--report", folder / "study.html")
        cls.summary = json.loads((folder / "out/summary.json").read_text())
        cls.browser = chromium.Browser(chromium.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.scratch.cleanup()

    def open(self, name="run", **how):
        seconds = self.browser.open(f"file://{self.folder}/{name}.html", **how)
        self.assertEqual(self.browser.problems(), [])
        return seconds

    def texts(self, selector):
        return self.browser.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def shoot(self, name):
        if SCREENSHOTS:
            self.browser.screenshot(SCREENSHOTS / f"{name}.png")

    def test_figures_are_those_of_summary_json(self):
        self.open()
        shown = self.browser.evaluate("""[...document.querySelectorAll('[data-key]')].map(
            e => [e.dataset.key, e.dataset.value ?? null])""")
        self.assertGreater(len(shown), 60)
        names = list(self.summary["classes"])
        for key, value in shown:
            name = next(n for n in names if key.startswith(f"classes.{n}."))
            expected = self.summary["classes"][name][key.removeprefix(f"classes.{name}.")]
            self.assertEqual(None if value is None else float(value), expected, key)

    def test_the_first_screen_gives_the_verdicts_and_the_tail(self):
        self.open()
        cards = " ".join(self.texts(".card"))
        self.assertIn("1 of 1 failed", cards)
        self.assertIn("checks passed", cards)
        self.assertLess(self.browser.evaluate(
            "document.querySelector('#verdict .bar').getBoundingClientRect().bottom"), 900)
        self.shoot("desktop_light")

    def test_a_slice_leads_to_its_requests(self):
        self.open()
        self.browser.click("#ledger .slice")
        self.assertTrue(self.browser.wait("document.querySelector('#behind tbody tr')"))
        part = self.browser.evaluate("document.querySelector('#ledger .slice').dataset.part")
        rows = self.texts("#behind tbody tr td:first-child")
        self.assertTrue(1 <= len(rows) <= 10)
        self.assertIn(part, self.texts("#behind caption")[0])
        amounts = [float(value.replace(",", "")) for value in
                   self.texts("#behind tbody tr td:nth-child(7)")]
        self.assertEqual(amounts, sorted(amounts, reverse=True))
        self.assertEqual(self.browser.evaluate(
            "document.querySelectorAll('#ledger .slice[aria-pressed=true]').length"), 1)

    def test_bars_sum_to_the_latency_that_summary_json_states(self):
        self.open()
        self.browser.evaluate("document.querySelector('#ledger details').open = true")
        self.assertTrue(self.browser.wait(
            "document.querySelector('#ledger details tr:last-child [data-value]')"))
        value = self.browser.evaluate(
            "document.querySelector('#ledger details tr:last-child [data-value]').dataset.value")
        self.assertAlmostEqual(float(value), self.summary["classes"]["all"]["mean_ttft_ms"], 6)

    def test_a_key_hides_its_part(self):
        self.open()
        slices = "document.querySelectorAll('#ledger .slice').length"
        before = self.browser.evaluate(slices)
        self.browser.click("#ledger .key")
        self.assertTrue(self.browser.wait(f"{slices} < {before}"))
        self.browser.click("#ledger .key")
        self.assertTrue(self.browser.wait(f"{slices} === {before}"))

    def test_text_of_the_scenario_is_text(self):
        for page in ("run", "study"):
            self.open(page)
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('img').length"), 0)
            self.assertEqual(self.browser.evaluate("document.title"), "browser: Tokenline report")
        self.open()
        self.assertIn(HOSTILE, self.texts(".top p")[0])

    def test_the_theme_follows_the_system_and_the_button(self):
        paper = "getComputedStyle(document.body).backgroundColor"
        self.open()
        light = self.browser.evaluate(paper)
        self.browser.click(".theme")
        self.assertTrue(self.browser.wait(f"{paper} !== '{light}'"))
        dark = self.browser.evaluate(paper)
        self.open(dark=True)
        self.assertEqual(self.browser.evaluate(paper), dark)
        self.shoot("desktop_dark")

    def test_a_phone_never_scrolls_sideways(self):
        for page in ("run", "study"):
            for width in (320, 360):
                self.open(page, width=width, height=740, touch=True)
                self.browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                self.browser.evaluate("new Promise(done => setTimeout(done, 50))")
                self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
            self.shoot(f"phone_{page}")

    def test_the_keyboard_reaches_every_control(self):
        for page in ("run", "study"):
            self.open(page)
            controls = self.browser.evaluate("""(() => {
                const all = [...document.querySelectorAll('a, button, select, summary, [tabindex="0"]')]
                    .filter(e => e.checkVisibility());
                all.forEach((e, i) => e.dataset.control = i);
                return all.length;
            })()""")
            reached = set()
            for _ in range(controls + 2):
                self.browser.press("Tab")
                reached.add(self.browser.evaluate("document.activeElement.dataset.control ?? null"))
            self.assertEqual(reached - {None}, {str(i) for i in range(controls)})
            self.assertEqual(self.browser.evaluate("""[...document.querySelectorAll('button, [role]')]
                .filter(e => !e.textContent && !e.getAttribute('aria-label')).length"""), 0)

    def test_the_keyboard_opens_a_slice_and_reads_a_chart(self):
        self.open()
        self.browser.evaluate("document.querySelector('#ledger .slice').focus()")
        self.browser.press("Enter", text="\r")
        self.assertTrue(self.browser.wait("document.querySelector('#behind tbody tr')"))
        self.browser.evaluate("document.querySelector('#timeline .plot').focus()")
        self.browser.press("ArrowRight")
        self.assertTrue(self.browser.wait(
            "document.querySelector('#timeline .readout').textContent.includes('arrived')"))

    def test_every_chart_has_a_text_and_its_section_a_table(self):
        self.open()
        self.assertEqual(self.browser.evaluate("""[...document.querySelectorAll('.plot')]
            .filter(e => !e.getAttribute('aria-label')).length"""), 0)
        for section in ("ledger", "latencies", "timeline"):
            self.browser.evaluate(f"document.querySelector('#{section} details').open = true")
            self.assertTrue(self.browser.wait(
                f"document.querySelectorAll('#{section} details tbody tr').length > 2"), section)

    def test_a_study_shows_claims_ranks_and_overlays(self):
        self.open("study")
        self.assertIn("0 of 1 confirmed", " ".join(self.texts(".card")))
        self.assertEqual(len(self.texts("#ranking tbody tr")), 3)
        lines = "document.querySelectorAll('#latencies .plot path').length"
        self.assertTrue(self.browser.wait(f"{lines} === 3"))
        self.browser.click("#latencies .key")
        self.assertTrue(self.browser.wait(f"{lines} === 2"))
        self.shoot("study")

    def test_a_hundred_thousand_requests_load_quickly(self):
        scenario = ROOT / "scenarios/bench/million_requests.yaml"
        page = self.folder / "large.html"
        tokenline("run", scenario, "--set", "traffic.short.num_prompts=100000", "--report", page)
        seconds = self.open("large")
        print(f"100,000 requests: {page.stat().st_size / 1e6:.2f} MB, ready and painted after "
              f"{seconds:.2f} s")
        # A second on an idle machine; more than that only where something is wrong.
        self.assertLess(seconds, 10)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4):
        raise SystemExit(__doc__)
    BINARY = sys.argv[1]
    SCREENSHOTS = pathlib.Path(sys.argv[3]) if len(sys.argv) == 4 else None
    unittest.main(argv=sys.argv[:1])
