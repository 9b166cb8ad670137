"""Sweeps over a Ray cluster: the same results as on one machine, byte for byte."""

from __future__ import annotations

from typing import Any, Optional

from tokenline import _core, _inputs
from tokenline._sweep import SweepResult, results_directory

#: Points handed to the cluster at a time, per processor of it.
_AHEAD = 4


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            "tokenline.ray.sweep needs Ray: pip install 'tokenline[ray]'"
        ) from error
    return ray


def _run_point(point: _core.Point) -> str:
    return _core.run_point(point)


def _collect(ray: Any, points: list[_core.Point], folder: _core.ResultFolder, retries: int) -> None:
    """Runs the points on the cluster and keeps each result as soon as it is there."""
    task = ray.remote(num_cpus=1, max_retries=retries)(_run_point)
    ahead = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = list(reversed(points))
    running: dict[Any, _core.Point] = {}
    try:
        while waiting or running:
            while waiting and len(running) < ahead:
                point = waiting.pop()
                running[task.remote(point)] = point
            done, _ = ray.wait(list(running), num_returns=1)
            folder.put(running.pop(done[0]), ray.get(done[0]))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    finally:
        for reference in running:
            ray.cancel(reference)


def sweep(
    source: _inputs.Source,
    address: str = "auto",
    out: Optional[_inputs.Source] = None,
    max_retries: int = 3,
    **init: Any,
) -> SweepResult:
    """``tokenline.sweep`` over the nodes of an existing Ray cluster at ``address``, by default the
    one that this machine is part of; ``init`` goes to ``ray.init``. A connection that is there is
    used, and left open.

    Every node needs the same version of tokenline and the sweep's files at the same paths: a worker
    whose files differ is a ConfigError. A point whose worker or node dies is run again, at most
    ``max_retries`` times (-1: always); a point is a pure function, so that this changes nothing.
    ``out`` is a directory of this process. Ctrl-C ends it with KeyboardInterrupt and cancels what
    the cluster is at. Raises ImportError without Ray, ray.exceptions.RayError where the cluster
    fails, and what the first point that fails raises.
    """
    ray = _import_ray()
    points = _core.read_sweep(*_inputs.read(source))
    ours = not ray.is_initialized()
    with results_directory(out) as directory:
        folder = _core.ResultFolder.claim(directory, points)
        if ours:
            ray.init(address=address, **init)
        try:
            _collect(ray, folder.missing(points), folder, max_retries)
        finally:
            if ours:
                ray.shutdown()
        return SweepResult(points.name, _core.merge(directory))
