"""A sweep over a Ray cluster of two nodes gives the bytes of one machine, whoever dies."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tokenline
import tokenline.ray
from conftest import SWEEP, files_of

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    ray = None

with_ray = pytest.mark.skipif(
    ray is None, reason="Ray is not installed: tools/python/test --ray tests sweeps on a cluster"
)

#: Points of about a second each, so that there is time to kill who runs them.
SLOW_SWEEP = """\
sweep: slow
base: scenarios/bench/million_requests.yaml
grid:
  traffic.short.num_prompts: [400000]
  engine.max_num_seqs: [64, 128, 256]
seeds: [1, 2]
"""


@pytest.fixture(scope="module")
def shared_cluster():
    """Two raylets of one processor each, as processes of this machine."""
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def cluster(shared_cluster, root):
    """The cluster, seen from the repository."""
    return shared_cluster


def alive_nodes():
    return sum(node["Alive"] for node in ray.nodes())


def raylet(node):
    return node.all_processes["raylet"][0].process


def workers(cluster):
    """The workers of a cluster that run points, by process id."""
    raylets = [raylet(node).pid for node in cluster.list_all_nodes()]
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", ",".join(map(str, raylets))],
        capture_output=True, text=True,
    ).stdout
    processes = [line.split(maxsplit=1) for line in listed.splitlines()]
    return [int(pid) for pid, command in processes if command.startswith("ray::_run_point")]


def kill_during(cluster, sweep, kill):
    """Runs the sweep, and `kill` once points are under way on both nodes."""
    killed = []

    def when_running():
        deadline = time.monotonic() + 60
        while len(workers(cluster)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        killed.append(kill())

    killer = threading.Thread(target=when_running)
    killer.start()
    result = sweep()
    killer.join()
    return result, killed[0]


@with_ray
def test_two_nodes_give_the_bytes_of_one_machine(cluster, tmp_path):
    assert alive_nodes() == 2
    local = tokenline.sweep(SWEEP, out=tmp_path / "local")
    spread = tokenline.ray.sweep(SWEEP, out=tmp_path / "ray")
    assert files_of(tmp_path / "ray") == files_of(tmp_path / "local")
    assert spread.csv == local.csv
    assert ray.is_initialized(), "a connection that was there is left open"


@with_ray
def test_what_a_point_raises_on_a_node_is_raised_here(cluster, tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(open("scenarios/quickstart.yaml").read())
    points = tokenline._core.read_sweep(
        str(tmp_path / "sweep.yaml"), SWEEP.replace("scenarios/quickstart", "scenario").encode()
    )
    folder = tokenline._core.ResultFolder.claim(str(tmp_path / "out"), points)
    scenario.write_text("scenario: another\n")
    with pytest.raises(tokenline.ConfigError) as caught:
        tokenline.ray._collect(ray, folder.missing(points), folder, 0)
    assert caught.value.diagnostics[0].file == str(scenario)


@with_ray
def test_a_killed_worker_and_then_a_killed_node_change_nothing(cluster, tmp_path):
    local = tokenline.sweep(SLOW_SWEEP, out=tmp_path / "local")

    def over_ray(name):
        return lambda: tokenline.ray.sweep(SLOW_SWEEP, out=tmp_path / name)

    def kill_a_worker():
        victim = workers(cluster)[0]
        os.kill(victim, signal.SIGKILL)
        return victim

    spread, victim = kill_during(cluster, over_ray("worker"), kill_a_worker)
    assert victim not in workers(cluster)
    assert spread.csv == local.csv
    assert files_of(tmp_path / "worker") == files_of(tmp_path / "local")

    def kill_the_second_raylet():
        second = raylet(cluster.list_all_nodes()[1])
        second.kill()
        return second.wait()

    spread, code = kill_during(cluster, over_ray("node"), kill_the_second_raylet)
    assert code == -signal.SIGKILL
    assert spread.csv == local.csv
    assert files_of(tmp_path / "node") == files_of(tmp_path / "local")
    # The cluster takes seconds to call a node dead; its points were run again before that.
    deadline = time.monotonic() + 60
    while alive_nodes() > 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive_nodes() == 1


def test_without_ray_it_says_what_to_install(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'tokenline\[ray\]'"):
        tokenline.ray.sweep(SWEEP)
