"""Nothing is left behind by models that are loaded, run, debugged and dropped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli_runner import run_python_code
from text_models import SAMPLES

#: In a process of its own: what other tests left behind would hide it. Prints resident kilobytes after some rounds.
_ROUNDS = """
import gc, sys
import numpy as np
import loopdbg

models = sys.argv[2:]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


def once():
    for path in models:
        model = loopdbg.load(path)
        inputs = dict(np.load(path.rsplit(".", 1)[0] + ".inputs.npz"))
        model.run(inputs)
        model.run(inputs, on_iteration=lambda frame: frame.carried)
        session = loopdbg.debug(model, inputs)
        session.step(3)
        session.next_node()
        session.back()
        session.restart()


def rounds(count):
    for _ in range(count):
        once()
    gc.collect()
    return resident()


count = int(sys.argv[1])
# What waits for the collector between two of its rounds is memory that stays; the second time it has all that it takes.
_, before = rounds(count), rounds(count)
print(before, rounds(count))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory is kept a while")
def test_memory_stays_flat_over_many_rounds() -> None:
    """LOOPDBG_LEAK_ROUNDS sets how many; 40 by default."""
    rounds = os.environ.get("LOOPDBG_LEAK_ROUNDS", "40")
    models = [
        SAMPLES / name for name in ("newton_sqrt.onnx", "two_layer_lstm.onnx", "loop_nested.xml", "fibonacci.onnx")
    ]
    ran = run_python_code(_ROUNDS, rounds, *models, seconds=3600)
    assert ran.status == 0, ran.err
    before, after = map(int, ran.out.split())
    # A leak of one LSTM's weights (0.3 MB) or of one session a round would be ten times this.
    assert after - before < 4096, f"{before} KB resident, {after} KB after {rounds} more rounds"
