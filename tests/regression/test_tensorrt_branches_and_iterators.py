"""TensorRT: an iterator that ran out was called a sliced input; branches of two shapes were taken, and those of a
constant condition refused; ADD had no SUM to offer."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

import loopdbg

HEAD = """
import numpy as np
import tensorrt as trt
E = trt.ElementWiseOperation

def c(network, value, dtype=np.int32):
    array = np.array(value, dtype)
    return network.add_constant(array.shape, array).get_output(0)

def build(network):
    TRIPS = c(network, COUNT)
    m = c(network, np.arange(6).reshape(2, 3), np.float32)
    loop = network.add_loop()
    loop.add_trip_limit(TRIPS, trt.TripLimit.COUNT)
    it = loop.add_iterator(m).get_output(0)
    zero = c(network, [0, 0, 0], np.float32)
"""
NEEDED = """
    sum = loop.add_recurrence(zero)
    sum.set_input(1, network.add_elementwise(sum.get_output(0), it, E.SUM).get_output(0))
    network.mark_output(loop.add_loop_output(sum.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0))
"""
CONDITIONAL = """
    x = network.add_input("x", trt.float32, (2,))
    both = network.add_if_conditional()
    both.set_condition(CONDITION)
    i = both.add_input(x).get_output(0)
    s = network.add_shuffle(i)
    s.reshape_dims = (2, 1)
    network.mark_output(both.add_output(s.get_output(0), i).get_output(0))
"""


def loaded(folder: Path, text: str, count: int = 3) -> loopdbg.Model:
    path = folder / "model.py"
    path.write_text(textwrap.dedent(HEAD).replace("COUNT", str(count), 1) + text)
    return loopdbg.load(path)


def test_a_part_that_is_needed(tmp_path: Path) -> None:
    with pytest.raises(loopdbg.ExecutionError, match="the iterator over 'Constant_1' has only 2 parts"):
        loaded(tmp_path, NEEDED).run({})
    (total,) = loaded(tmp_path, NEEDED, 2).run({}).values()
    assert total.tolist() == [3, 5, 7]


def test_branches_of_two_shapes(tmp_path: Path) -> None:
    given = CONDITIONAL.replace("CONDITION", 'network.add_input("p", trt.bool, ())')
    said = r"gives \[2,1\], .* the false branch \[2\], .* they must have one shape"
    with pytest.raises(loopdbg.ModelError, match=said):
        loaded(tmp_path, NEEDED + given, 2)
    fixed = CONDITIONAL.replace("CONDITION", "c(network, True, np.bool_)")
    outputs = loaded(tmp_path, NEEDED + fixed, 2).run({"x": np.float32([1, 2])})
    assert [value.shape for value in outputs.values()] == [(3,), (2, 1)]


def test_the_sum_is_called_sum(tmp_path: Path) -> None:
    with pytest.raises(loopdbg.LoopdbgError, match=r"it is called ElementWiseOperation\.SUM"):
        loaded(tmp_path, "    network.add_elementwise(m, m, E.ADD)\n")
