"""A scenario at every point of a sweep."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from functools import cached_property
from typing import Iterator, Optional

from tokenline import _core, _inputs
from tokenline._run import Columns


class SweepResult:
    """The results of a sweep, in the order of its points."""

    def __init__(self, name: str, merged: _core.Merged) -> None:
        self.name = name
        self._merged = merged

    def __repr__(self) -> str:
        return f"<tokenline.SweepResult of {self.name}: {len(self.columns['point'])} points>"

    @cached_property
    def columns(self) -> Columns:
        """A row per point: ``point``, the axes (quantities in base units), ``seed``, and every
        figure as ``<class>.<metric>``: ``pandas.DataFrame(result.columns)``."""
        return self._merged.columns()

    @property
    def csv(self) -> str:
        """The same as CSV: the bytes of ``tokenline sweep`` and ``tokenline merge``."""
        return self._merged.csv()


@contextmanager
def results_directory(out: Optional[_inputs.Source]) -> Iterator[str]:
    """``out``, or one for as long as it is needed."""
    if out is not None:
        yield os.fspath(out)
        return
    with tempfile.TemporaryDirectory(prefix="tokenline-") as directory:
        yield directory


def sweep(
    source: _inputs.Source, out: Optional[_inputs.Source] = None, threads: Optional[int] = None
) -> SweepResult:
    """Simulates every point of a sweep (a path, or YAML text), ``threads`` at a time, all
    processors by default. ``out`` keeps a file per point as soon as it is there, so that a sweep
    that was interrupted goes on where it was. Ctrl-C ends it with KeyboardInterrupt. Raises
    ConfigError with every mistake of the sweep, OutputError, and what the first point that fails
    raised, when all others have a result."""
    points = _core.read_sweep(*_inputs.read(source))
    with results_directory(out) as directory:
        folder = _core.ResultFolder.claim(directory, points)
        _core.run_points(points, folder, threads)
        return SweepResult(points.name, _core.merge(directory))
