import pathlib
import subprocess
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def root(monkeypatch):
    """The repository, as the working directory."""
    monkeypatch.chdir(ROOT)
    return ROOT


@pytest.fixture
def cli():
    """The command line program that the wheel installs."""

    def run(*words):
        program = pathlib.Path(sysconfig.get_path("scripts")) / "tokenline"
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
        # 1: an assert of the scenario does not hold.
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run


def files_of(directory):
    """Every file below a directory, by name, with its bytes."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


SWEEP = """\
sweep: batch_limits
base: scenarios/quickstart.yaml
grid:
  engine.max_num_seqs: [16, 64, 256]
  traffic.chat.arrival.rate: [5/s, 10/s]
seeds: [1, 2]
"""

#: Minutes of wall time, were nobody to interrupt it.
ENDLESS = {"traffic.short.num_prompts": 100_000_000}
ENDLESS_SCENARIO = "scenarios/bench/million_requests.yaml"
