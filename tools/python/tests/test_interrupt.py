"""Ctrl-C ends whatever simulates, at once."""

import os
import signal
import threading
import time

import pytest

import tokenline
from conftest import ENDLESS, ENDLESS_SCENARIO

ENDLESS_STUDY = f"""\
study: endless
base: {ENDLESS_SCENARIO}
columns: [short.p99_ttft_ms]
variants:
  - {{name: one, set: {{traffic.short.num_prompts: 100000000}}}}
  - {{name: two, set: {{traffic.short.num_prompts: 100000000}}}}
"""

ENDLESS_SWEEP = f"""\
sweep: endless
base: {ENDLESS_SCENARIO}
grid: {{traffic.short.num_prompts: [99999998, 99999999, 100000000]}}
"""

CALLS = {
    "run": lambda: tokenline.run(tokenline.load(ENDLESS_SCENARIO, set=ENDLESS)),
    "run with steps": lambda: tokenline.run(
        tokenline.load(ENDLESS_SCENARIO, set=ENDLESS), steps=True
    ),
    # All are refused: there are arrivals and no steps.
    "run without steps": lambda: tokenline.run(
        tokenline.load(ENDLESS_SCENARIO, set={
            **ENDLESS,
            "cluster.admission": "token_bucket",
            "cluster.bucket_counts": "requests",
            "cluster.bucket_rate": "0.001/s",
            "cluster.bucket_burst": 1,
        })
    ),
    "compare": lambda: tokenline.compare(ENDLESS_STUDY),
    "sweep": lambda: tokenline.sweep(ENDLESS_SWEEP),
}


def after(seconds, action):
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_ctrl_c_ends_it_within_half_a_second(root, call):
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = after(0.3, press)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        timer.cancel()
    assert time.monotonic() - pressed[0] < 0.5


def test_a_signal_whose_handler_returns_changes_nothing(root):
    scenario = tokenline.load(ENDLESS_SCENARIO, set={"traffic.short.num_prompts": 100_000})
    expected = tokenline.run(scenario).summary
    handled = []
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.append(time.monotonic()))
    try:
        after(0.03, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        assert tokenline.run(scenario).summary == expected
    finally:
        time.sleep(0.05)
        signal.signal(signal.SIGUSR1, before)
    assert handled
