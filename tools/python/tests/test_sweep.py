"""Sweeps."""

import pytest

import tokenline
from conftest import SWEEP, files_of
from test_run import assert_same_table


def test_a_sweep_gives_the_bytes_of_the_command_line(root, cli, tmp_path):
    (tmp_path / "sweep.yaml").write_text(SWEEP.replace("scenarios", str(root / "scenarios")))
    result = tokenline.sweep(tmp_path / "sweep.yaml", out=tmp_path / "python")
    cli("sweep", tmp_path / "sweep.yaml", "--out", tmp_path / "cli", "--threads", 1)
    cli("merge", tmp_path / "cli", "-o", tmp_path / "results.csv")
    assert files_of(tmp_path / "python") == files_of(tmp_path / "cli")
    assert result.csv == (tmp_path / "results.csv").read_text()
    assert_same_table(result.columns, tmp_path / "results.csv")


def test_a_point_of_a_sweep_is_a_run(root):
    columns = tokenline.sweep(SWEEP).columns
    assert list(columns["engine.max_num_seqs"][::4]) == [16, 64, 256]
    assert list(columns["traffic.chat.arrival.rate_per_s"][:3]) == [5.0, 5.0, 10.0]
    run = tokenline.run(
        tokenline.load("scenarios/quickstart.yaml",
                       set={"engine.max_num_seqs": 16, "traffic.chat.arrival.rate": "5/s"}),
        seed=2,
    )
    assert columns["chat.p99_ttft_ms"][1] == run.summary["classes"]["chat"]["p99_ttft_ms"]


def test_a_sweep_goes_on_where_it_was(root, tmp_path):
    whole = tokenline.sweep(SWEEP, out=tmp_path)
    results = sorted(path for path in tmp_path.glob("*.json") if path.name != "sweep.json")
    kept = {path: path.stat().st_mtime_ns for path in results[3:]}
    for path in results[:3]:
        path.unlink()
    assert tokenline.sweep(SWEEP, out=tmp_path, threads=2).csv == whole.csv
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_mistakes_of_points_are_at_their_line_in_the_sweep(root):
    with pytest.raises(tokenline.ConfigError) as caught:
        tokenline.sweep(SWEEP.replace("256", "0"))
    assert {d.line for d in caught.value.diagnostics} == {4}
