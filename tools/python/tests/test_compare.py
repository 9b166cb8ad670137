"""Studies."""

import json

import numpy as np

import tokenline

STUDY = """\
study: batch_limit
base: scenarios/quickstart.yaml
columns: [chat.p99_ttft_ms, chat.output_throughput]
rank_by: chat.p99_ttft_ms
variants:
  - {name: as it is, set: {}}
  - {name: small, set: {engine.max_num_seqs: 4}}
"""


def test_a_study_gives_what_the_command_line_gives(root, cli, tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY.replace("scenarios", str(root / "scenarios")))
    comparison = tokenline.compare(tmp_path / "study.yaml", threads=1)
    assert comparison.summary == json.loads(cli("compare", tmp_path / "study.yaml", "--json"))
    assert str(comparison) == cli("compare", tmp_path / "study.yaml")
    variants = comparison.variants
    assert list(variants["variant"]) == ["as it is", "small"]
    assert list(variants["rank"]) == [1, 2]
    for variant, ttft in zip(variants["variant"], variants["chat.p99_ttft_ms"]):
        changes = {"engine.max_num_seqs": 4} if variant == "small" else {}
        run = tokenline.run(tokenline.load("scenarios/quickstart.yaml", set=changes))
        assert ttft == run.summary["classes"]["chat"]["p99_ttft_ms"]
    assert np.isclose(
        variants["factor"][1], variants["chat.p99_ttft_ms"][1] / variants["chat.p99_ttft_ms"][0]
    )


def test_a_study_in_text_is_read_from_the_working_directory(root):
    assert tokenline.compare(STUDY).summary["study"] == "batch_limit"
