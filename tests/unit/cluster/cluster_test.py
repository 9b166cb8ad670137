#!/usr/bin/env python3
"""The Slurm script and the Kubernetes job give, index by index, the table of one undisturbed run.

usage: cluster_test.py TOKENLINE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CLUSTER = pathlib.Path(__file__).resolve().parents[3] / "tools/sweep/cluster"
SHARDS = 16
SCENARIO = """scenario: service
model: llama-3.1-8b
cluster: {gpu: h100_pcie}
engine: {preset: vllm-v1, max_model_len: 1024, max_num_batched_tokens: 256, max_num_seqs: 8}
traffic:
  chat: {arrival: {process: poisson, rate: 10/s}, num_prompts: 3, prompt_tokens: 100, output_tokens: 3}
"""
SWEEP = """sweep: sequences
base: service.yaml
seeds: [1, 2, 3, 4]
grid: {engine.max_num_seqs: [2, 3, 4, 5, 6]}
"""


class Cluster(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "service.yaml").write_text(SCENARIO)
        (self.folder / "study.yaml").write_text(SWEEP)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/tokenline").symlink_to(BINARY)
        self.run_in(["tokenline", "sweep", "study.yaml", "--out", "whole"])
        self.whole = self.table("whole")

    def tearDown(self):
        self.scratch.cleanup()

    def run_in(self, words, **environment):
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        subprocess.run(words, cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PATH": path, **environment})

    def table(self, results):
        self.run_in(["tokenline", "merge", results, "-o", f"{results}.csv"])
        return (self.folder / f"{results}.csv").read_bytes()

    def test_the_slurm_array(self):
        script = CLUSTER / "sweep.slurm"
        self.assertIn(f"#SBATCH --array=0-{SHARDS - 1}\n", script.read_text())
        for index in range(SHARDS):
            self.run_in(["bash", str(script)], SWEEP="study.yaml", RESULTS="slurm",
                        SLURM_ARRAY_TASK_ID=str(index), SLURM_ARRAY_TASK_COUNT=str(SHARDS))
        self.assertEqual(self.table("slurm"), self.whole)

    def test_the_kubernetes_job(self):
        text = (CLUSTER / "sweep-job.yaml").read_text()
        self.assertIn(f"completions: {SHARDS}\n", text)
        self.assertIn(f'{{name: SHARDS, value: "{SHARDS}"}}', text)
        command = re.search(r"args: \['(.*)'\]", text)[1]
        for index in range(SHARDS):
            self.run_in(["/bin/sh", "-c", command], SWEEP="study.yaml", RESULTS="pods",
                        SHARDS=str(SHARDS), JOB_COMPLETION_INDEX=str(index))
        self.assertEqual(self.table("pods"), self.whole)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    BINARY = str(pathlib.Path(sys.argv.pop()).resolve())
    unittest.main()
