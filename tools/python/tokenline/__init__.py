"""Simulates LLM inference serving, step by step and without a GPU.

    import tokenline
    scenario = tokenline.load("scenarios/quickstart.yaml")
    result = tokenline.run(scenario.set("engine.max_num_seqs", 64), seed=7)
    result.summary["classes"]["chat"]["p99_ttft_ms"]
    pandas.DataFrame(result.requests)

A run is a pure function of scenario and seed: the same figures, to the byte, as those of the command
line. ``tokenline.ray`` shares a sweep out over a Ray cluster.
"""

from tokenline import _core
from tokenline._errors import ConfigError, Diagnostic, InternalError, OutputError
from tokenline._plan import PlanResult, plan
from tokenline._run import Columns, Comparison, Result, Scenario, compare, load, run
from tokenline._sweep import SweepResult, sweep

__version__ = _core.version()

__all__ = [
    "Columns",
    "Comparison",
    "ConfigError",
    "Diagnostic",
    "InternalError",
    "OutputError",
    "PlanResult",
    "Result",
    "Scenario",
    "SweepResult",
    "compare",
    "load",
    "plan",
    "run",
    "sweep",
]
