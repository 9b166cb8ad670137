"""A run through Python is a run of the command line, as columns."""

import csv
import gc
import json
import pickle
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tokenline
from conftest import files_of

# Alike prompts, refused requests, pools of replicas, crashes.
CASES = [
    ("scenarios/quickstart.yaml", {}),
    ("scenarios/quickstart.yaml", {"engine.max_num_seqs": 8, "cluster.replicas": 2}),
    ("scenarios/conversations.yaml", {}),
    ("scenarios/overload/overload.yaml", {"cluster.admission": "bounded_queue", "cluster.max_waiting": 20}),
    ("scenarios/disaggregation/transfer.yaml", {}),
    ("scenarios/fleet/failover.yaml", {}),
]


def assert_same_table(columns, path):
    """Numbers to the last bit: an exact decimal read back is the nearest double."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    assert list(columns) == header
    for name, texts in zip(header, zip(*rows)):
        column = columns[name]
        if column.dtype == np.float64:
            expected = np.array([float(text) if text else np.nan for text in texts])
            assert np.array_equal(column, expected, equal_nan=True), name
        else:
            assert [str(value) for value in column] == list(texts), name
            assert column.dtype in (np.int64, object)


@pytest.mark.parametrize("scenario, changes", CASES)
def test_a_run_gives_the_bytes_and_numbers_of_the_command_line(
    root, cli, tmp_path, scenario, changes
):
    result = tokenline.run(tokenline.load(scenario, set=changes), seed=7, steps=True)
    result.write(tmp_path / "python")
    overrides = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    cli("run", scenario, *overrides, "--seed", 7, "--out", tmp_path / "cli", "--steps", "--quiet")
    assert files_of(tmp_path / "python") == files_of(tmp_path / "cli")
    assert result.summary == json.loads((tmp_path / "cli/summary.json").read_text())
    assert_same_table(result.requests, tmp_path / "cli/requests.csv")
    assert_same_table(result.steps, tmp_path / "cli/steps.csv")


def test_what_a_run_prints_is_what_the_command_line_prints(root, cli):
    result = tokenline.run(tokenline.load("scenarios/quickstart.yaml"))
    assert str(result) == cli("run", "scenarios/quickstart.yaml")
    assert result.asserts_passed
    assert "completed" in repr(result)


def test_the_ledger_of_every_request_sums_to_its_latency(root):
    requests = pd.DataFrame(tokenline.run(tokenline.load("scenarios/quickstart.yaml")).requests)
    for latency in ("ttft", "e2el"):
        parts = requests.filter(regex=f"^{latency}_.+_ms$").sum(axis="columns")
        # Sums of sixteen doubles of milliseconds.
        assert np.allclose(parts, requests[f"{latency}_ms"], rtol=1e-14, atol=1e-9)


def test_columns_reach_arrow_without_a_copy_and_outlive_the_result(root):
    result = tokenline.run(tokenline.load("scenarios/quickstart.yaml"))
    columns = result.requests
    table = pa.table(columns)
    for name in ("ttft_ms", "prompt_tokens"):
        assert not columns[name].flags.owndata
        assert pa.array(columns[name]).buffers()[1].address == columns[name].ctypes.data
        assert np.from_dlpack(columns[name]).ctypes.data == columns[name].ctypes.data
    mean = table["prompt_tokens"].to_numpy().mean()
    prompts = columns["prompt_tokens"]
    del result, columns, table
    gc.collect()
    assert prompts.mean() == mean


def test_a_scenario_is_a_value(root):
    base = tokenline.load("scenarios/quickstart.yaml")
    small = base.set("engine.max_num_seqs", 4).set("traffic.chat.arrival.rate", "5/s")
    assert base.overrides == ()
    assert repr(small).startswith("<tokenline.Scenario quickstart, seed 42, engine.max_num_seqs=4")
    assert "max_num_seqs: 4\n" in small.yaml
    same = [small, pickle.loads(pickle.dumps(small)), tokenline.load(small.yaml)]
    classes = [tokenline.run(scenario).summary["classes"] for scenario in same]
    assert classes[0] == classes[1] == classes[2]
    assert tokenline.run(small).summary == tokenline.run(small).summary
    assert tokenline.run(small, seed=3).summary == tokenline.run(small.set("seed", 3)).summary
    bounded = base.set({"cluster.admission": "bounded_queue", "cluster.max_waiting": 1000})
    assert bounded.set("traffic.chat.slo", {"ttft": "1 s"}).overrides == (
        "cluster.admission=bounded_queue",
        "cluster.max_waiting=1000",
        'traffic.chat.slo={"ttft": "1 s"}',
    )


def test_steps_are_kept_on_demand(root):
    with pytest.raises(ValueError, match="steps=True"):
        tokenline.run(tokenline.load("scenarios/quickstart.yaml")).steps


def test_threads_of_python_go_on_while_it_simulates(root):
    scenario = tokenline.load("scenarios/bench/million_requests.yaml",
                              set={"traffic.short.num_prompts": 200_000})
    ticks = []
    over = threading.Event()

    def tick():
        while not over.wait(0.001):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick, daemon=True)
    other.start()
    begin = time.monotonic()
    tokenline.run(scenario)
    end = time.monotonic()
    over.set()
    other.join()
    during = [begin, *(t for t in ticks if begin < t < end), end]
    # Held, the lock would leave one gap as long as the run.
    assert max(np.diff(during)) < (end - begin) / 2


def test_runs_on_several_threads_are_the_runs_on_one(root):
    scenario = tokenline.load("scenarios/quickstart.yaml")
    results = [None] * 4

    def run(seed):
        results[seed] = tokenline.run(scenario, seed=seed).summary

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [tokenline.run(scenario, seed=seed).summary for seed in range(4)]
