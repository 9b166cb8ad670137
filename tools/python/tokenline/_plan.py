"""The cheapest fleet that meets every SLO."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import Any, Optional

from tokenline import _core, _inputs
from tokenline._run import Scenario, load


class PlanResult:
    """A plan after its search."""

    def __init__(self, result: _core.PlanResult) -> None:
        self._result = result

    def __repr__(self) -> str:
        return f"<tokenline.PlanResult of {self.summary['plan']}>"

    def __str__(self) -> str:
        """What ``tokenline plan`` prints."""
        return self._result.text

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of plan.json: ``pandas.DataFrame(result.summary["designs"])``."""
        summary: dict[str, Any] = json.loads(self._result.json)
        return summary

    @cached_property
    def winner(self) -> Optional[Scenario]:
        """The winning fleet as a scenario that asserts the SLOs; None where no fleet meets them."""
        return None if self._result.winner is None else load(self._result.winner)


def plan(source: _inputs.Source, threads: Optional[int] = None) -> PlanResult:
    """Finds the cheapest fleet of a plan (a path, or YAML text) that meets every SLO, with
    ``threads`` simulations at a time, all processors by default; the result is the same for any
    number. Ctrl-C ends it with KeyboardInterrupt, once the traffic
    of the base is drawn. Raises as ``load`` and ``run``."""
    file, text = _inputs.read(source)
    return PlanResult(_core.plan(file, text, threads, os.getcwd()))
