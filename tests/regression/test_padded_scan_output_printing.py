"""After a run, an expression read a padded scan output of a TensorRT loop without its padding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.trace.replay import Replay
from loopdbg.runtime.model import load
from recordings import record_run

SCRIPT = """\
import numpy as np, tensorrt as trt
def build(n):
    x = n.add_input("x", trt.float32, (-1,))
    loop = n.add_loop()
    loop.add_trip_limit(n.add_constant((), np.array(3, np.int32)).get_output(0), trt.TripLimit.COUNT)
    h = loop.add_recurrence(x)
    s = n.add_elementwise(h.get_output(0), x, trt.ElementWiseOperation.SUM).get_output(0)
    h.set_input(1, s)
    for kind, name, axis in ((trt.LoopOutput.CONCATENATE, "rows", 0), (trt.LoopOutput.REVERSE, "backwards", 1)):
        output = loop.add_loop_output(s, kind, axis)
        output.set_input(1, n.add_constant((), np.array(5, np.int32)).get_output(0))
        output.get_output(0).name = name
        n.mark_output(output.get_output(0))
"""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> loopdbg.Model:
    path = tmp_path_factory.mktemp("padded") / "net.py"
    path.write_text(SCRIPT)
    return load(path)


@pytest.mark.parametrize("size", [2, 1 << 15], ids=["copied", "referred to"])
def test_expressions_after_the_run_give_what_the_model_returns(network: loopdbg.Model, size: int) -> None:
    inputs = {"x": np.arange(size, dtype=np.float32)}
    returned = network.run(inputs)
    session = loopdbg.debug(network, inputs)
    session.continue_()
    for name in ("rows", "backwards"):
        np.testing.assert_array_equal(session.frame[name], returned[name], strict=True)
        # In iteration 1 one element was there; padding is none.
        np.testing.assert_array_equal(np.ravel(session.frame[f"{name}@1"]), 2 * inputs["x"])
    assert returned["rows"].shape == (5, size)
    session.goto(2)
    assert session.frame["shape(rows)"][0] < 5


def test_a_recording_shows_the_padding_too(network: loopdbg.Model, tmp_path: Path) -> None:
    inputs = {"x": np.ones(2, np.float32)}
    trace, _, _ = record_run(tmp_path / "t.loopdb", network, inputs)
    with trace:
        session = Replay(trace)
        session.continue_()
        for name, value in network.run(inputs).items():
            np.testing.assert_array_equal(session.frame[name], value, strict=True)
