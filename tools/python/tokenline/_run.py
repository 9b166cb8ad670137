"""Scenarios, their runs, and studies that compare variants."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import Any, Mapping, Optional, Union, overload

import numpy as np

from tokenline import _core, _inputs

#: A table: a numpy array per column, all of one length.
Columns = dict[str, "np.ndarray[Any, Any]"]


class Scenario:
    """A scenario that was read and checked: its text and overrides. Never changes; can be pickled.

    Data files that it names (traces, lengths, models) are read when it runs.
    """

    def __init__(self, file: str, text: bytes, overrides: tuple[str, ...]) -> None:
        self._file = file
        self._text = text
        self._overrides = overrides
        self._info = _core.check(file, text, list(overrides), os.getcwd())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Scenario, (self._file, self._text, self._overrides))

    def __repr__(self) -> str:
        changes = "".join(f", {override}" for override in self._overrides)
        return f"<tokenline.Scenario {self.name}, seed {self.seed}{changes}>"

    @property
    def name(self) -> str:
        """Its ``scenario:`` key."""
        return self._info.name

    @property
    def description(self) -> str:
        """Its ``description:`` key."""
        return self._info.description

    @property
    def seed(self) -> int:
        """Of every random draw."""
        return self._info.seed

    @property
    def overrides(self) -> tuple[str, ...]:
        """``key=value`` for each key that was set, in order."""
        return self._overrides

    @property
    def yaml(self) -> str:
        """Every key with the value in force, as config.yaml of a run. Relative paths are those of
        the working directory in which the scenario was loaded."""
        return self._info.yaml

    @overload
    def set(self, key: str, value: Any) -> Scenario: ...
    @overload
    def set(self, key: Mapping[str, Any]) -> Scenario: ...
    def set(self, key: Union[str, Mapping[str, Any]], value: Any = None) -> Scenario:
        """The same with another value: ``scenario.set("engine.max_num_seqs", 64)``, or with several
        that go together: ``scenario.set({"cluster.admission": "bounded_queue",
        "cluster.max_waiting": 20})``. Quantities are texts with their unit, ``"80 GB"``. Raises
        ConfigError where the scenario does not take them."""
        changes = {key: value} if isinstance(key, str) else key
        overrides = _inputs.assignments(changes)
        return Scenario(self._file, self._text, (*self._overrides, *overrides))

    def _run(self, steps: bool) -> _core.Result:
        return _core.run(self._file, self._text, list(self._overrides), steps)


class Result:
    """A finished run, whose audit has passed."""

    def __init__(self, scenario: Scenario, run: _core.Result) -> None:
        self.scenario = scenario
        self._run = run

    def __repr__(self) -> str:
        figures = self.summary["classes"]["all"]
        return (
            f"<tokenline.Result of {self.scenario.name}, seed {self.scenario.seed}: "
            f"{figures['completed']} requests completed, {figures['failed']} failed>"
        )

    def __str__(self) -> str:
        """What ``tokenline run`` prints."""
        return self._run.text()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        summary: dict[str, Any] = json.loads(self._run.summary_json())
        return summary

    @cached_property
    def requests(self) -> Columns:
        """The columns of requests.csv, a row per request: ``pandas.DataFrame(result.requests)``,
        ``pyarrow.table(result.requests)``. Numbers are NaN where they do not apply. The arrays own
        memory that the simulator filled; they may outlive the result."""
        return self._run.requests()

    @cached_property
    def steps(self) -> Columns:
        """The columns of steps.csv, a row per step of a replica. Raises ValueError unless the run
        kept them: ``run(scenario, steps=True)``."""
        return self._run.steps()

    @property
    def asserts_passed(self) -> bool:
        """Whether every condition of the scenario's ``assert:`` holds."""
        return self._run.asserts_passed

    def write(self, directory: _inputs.Source) -> None:
        """Writes config.yaml, summary.json, requests.csv and, where steps were kept, steps.csv: the
        bytes of ``tokenline run --out``. The directory must be new, empty or an earlier run's.
        Raises OutputError."""
        self._run.write(os.fspath(directory))


def load(source: _inputs.Source, set: Optional[Mapping[str, Any]] = None) -> Scenario:
    """Reads a scenario: a path, or YAML text (a string with a line break). ``set`` overrides keys,
    in order: ``load("quickstart.yaml", set={"engine.max_num_seqs": 64})``. Raises ConfigError with
    every mistake found, or OSError where there is no such file."""
    file, text = _inputs.read(source)
    return Scenario(file, text, _inputs.assignments(set or {}))


def run(scenario: Scenario, seed: Optional[int] = None, steps: bool = False) -> Result:
    """Simulates a scenario until every request has ended; other Python threads go on meanwhile.
    ``seed`` replaces that of the scenario, ``steps`` keeps every step (about 100 bytes each).
    Ctrl-C ends it with KeyboardInterrupt. Raises InternalError where the run fails its audit."""
    if seed is not None:
        scenario = scenario.set("seed", seed)
    return Result(scenario, scenario._run(steps))


class Comparison:
    """A study after its runs."""

    def __init__(self, result: _core.ComparisonResult) -> None:
        self._result = result

    def __repr__(self) -> str:
        return f"<tokenline.Comparison of {self.summary['study']}>"

    def __str__(self) -> str:
        """What ``tokenline compare`` prints."""
        return self._result.text

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of compare.json: claims, ranking, and the summary of every variant."""
        summary: dict[str, Any] = json.loads(self._result.json)
        return summary

    @cached_property
    def variants(self) -> Columns:
        """A row per variant, the ranked ones first and best first: ``rank`` (NaN for the unranked),
        ``variant``, the study's columns, and ``factor``, its first metric over that of the first
        variant."""
        ranked = self.summary.get("ranking", [])
        rows = [*ranked, *self.summary.get("unranked", [])]
        ranks = [float(place) for place in range(1, len(ranked) + 1)]
        ranks += [float("nan")] * (len(rows) - len(ranks))
        columns: Columns = {
            "rank": np.array(ranks),
            "variant": np.array([row["variant"] for row in rows], dtype=object),
        }
        for name in rows[0]["columns"] if rows else []:
            columns[name] = np.array([row["columns"][name] for row in rows], dtype=float)
        columns["factor"] = np.array([row["factor"] for row in rows], dtype=float)
        return columns

    @property
    def refused(self) -> bool:
        """A base's replay misses what was observed, so that no variant was simulated."""
        return self._result.refused

    @property
    def asserts_passed(self) -> bool:
        """Whether every condition of every variant's ``assert:`` holds."""
        return self._result.asserts_passed


def compare(
    study: _inputs.Source,
    threads: Optional[int] = None,
    ignore_fidelity: bool = False,
    out: Optional[_inputs.Source] = None,
) -> Comparison:
    """Runs the variants of a study (a path, or YAML text), ``threads`` at a time, all processors by
    default; the result is the same for any number. ``out`` is a directory for compare.json and a
    run directory per variant. Raises as ``load`` and ``run``."""
    file, text = _inputs.read(study)
    directory = None if out is None else os.fspath(out)
    return Comparison(_core.compare(file, text, threads, ignore_fidelity, directory))
