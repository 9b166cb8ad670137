"""Users are checked against our types. The stub of the module is generated from it by the build."""

import subprocess
import sys

USER = """\
import numpy as np
import tokenline
import tokenline.ray
from typing import Any

scenario: tokenline.Scenario = tokenline.load("quickstart.yaml", set={"engine.max_num_seqs": 64})
result = tokenline.run(scenario, seed=7, steps=True)
ttft: "np.ndarray[Any, Any]" = result.requests["ttft_ms"]
lines: list[int] = [d.line for d in tokenline.ConfigError("").diagnostics]
csv: str = tokenline.ray.sweep("sweep.yaml", max_retries=1).csv
tokenline.run("quickstart.yaml")  # type: ignore[arg-type]
tokenline.compare("study.yaml", threads="2")  # type: ignore[arg-type]
"""

# Ray's own types are not ours to check; the generated stub says `dict` of what is a dict of columns.
SETTINGS = """\
[mypy]
[mypy-ray.*]
follow_imports = skip
ignore_missing_imports = True
[mypy-tokenline._core]
disallow_any_generics = False
"""


def python(tmp_path, *words):
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_users_and_the_package_pass_mypy(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    python(tmp_path, "mypy", "--strict", "user.py")
    python(tmp_path, "mypy", "--strict", "-p", "tokenline")
