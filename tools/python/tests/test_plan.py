"""Capacity plans."""

import json

import tokenline

BASE = """\
scenario: small
model: llama-3.1-8b
cluster: {gpu: l40s}
engine: {preset: vllm-v1, max_model_len: 1024, max_num_batched_tokens: 512, max_num_seqs: 32}
traffic:
  chat:
    arrival: {process: poisson, rate: 20/s}
    stop: 10 s
    prompt_tokens: {distribution: uniform, min: 100, max: 700}
    output_tokens: {distribution: uniform, min: 20, max: 80}
"""

PLAN = """\
plan: small
base: base.yaml
seeds: 2
replicas: {max: 12}
slo: [p99_ttft(chat) < 600 ms]
axes:
  - {axis: gpu, key: cluster.gpu, values: [l40s, h100_pcie]}
"""


def test_a_plan_gives_what_the_command_line_gives(cli, tmp_path, monkeypatch):
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "plan.yaml").write_text(PLAN)
    result = tokenline.plan(tmp_path / "plan.yaml", threads=1)
    assert result.summary == json.loads(cli("plan", tmp_path / "plan.yaml", "--json"))
    assert str(result) == cli("plan", tmp_path / "plan.yaml")
    monkeypatch.chdir(tmp_path)
    assert tokenline.plan(PLAN).summary["designs"] == result.summary["designs"]


def test_the_winner_is_a_scenario_that_meets_its_targets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(BASE)
    winner = tokenline.plan(PLAN).winner
    assert winner is not None
    assert tokenline.run(winner).asserts_passed
    impossible = PLAN.replace("600 ms", "1 ms")
    assert tokenline.plan(impossible).winner is None
