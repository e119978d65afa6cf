"""TensorRT: an iterator that ran out was an error where nothing needed its part, and a hang in a loop of numbers.

Branches of two shapes were taken, and those of a constant condition refused. ADD had no SUM to offer.
"""

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
DELAYED = """
    first = loop.add_recurrence(zero)
    first.set_input(1, it)
    second = loop.add_recurrence(zero)
    second.set_input(1, first.get_output(0))
    out = loop.add_loop_output(second.get_output(0), trt.LoopOutput.CONCATENATE)
    out.set_input(1, TRIPS)
    network.mark_output(out.get_output(0))
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


NUMBERS = """
import numpy as np
import tensorrt as trt


def build(network):
    n, x = network.add_input("n", trt.int32, ()), network.add_input("x", trt.float32, (2000,))
    loop = network.add_loop()
    loop.add_trip_limit(n, trt.TripLimit.COUNT)
    total = loop.add_recurrence(network.add_constant((), np.zeros((), np.float32)).get_output(0))
    part = loop.add_iterator(x).get_output(0)
    total.set_input(1, network.add_elementwise(total.get_output(0), part, trt.ElementWiseOperation.SUM).get_output(0))
    network.mark_output(loop.add_loop_output(total.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0))
"""


def loaded(folder: Path, text: str, count: int = 3) -> loopdbg.Model:
    path = folder / "model.py"
    path.write_text(textwrap.dedent(HEAD).replace("COUNT", str(count), 1) + text)
    return loopdbg.load(path)


def test_parts_that_would_go_into_iterations_that_never_run(tmp_path: Path) -> None:
    m = loaded(tmp_path, DELAYED, 4)
    (rows,) = m.run({}).values()
    assert rows.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 2], [3, 4, 5]]
    session = loopdbg.debug(m, {})
    for _ in range(2):  # back over the iteration whose part was not there, and on
        session.continue_()
        assert session.outputs is not None
        assert np.array_equal(next(iter(session.outputs.values())), rows)
        session.goto(1)
    with pytest.raises(loopdbg.ExecutionError) as caught:
        loaded(tmp_path, DELAYED, 5).run({})
    assert caught.value.got == "2 parts"


def test_an_iterator_runs_out_in_a_loop_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "numbers.py"
    path.write_text(NUMBERS, encoding="utf-8")
    with pytest.raises(loopdbg.ExecutionError) as caught:
        loopdbg.load(path).run({"x": np.ones(2000, np.float32), "n": np.int32(3000)})
    assert (caught.value.iteration, caught.value.name, caught.value.got) == (2000, "x", "2000 parts")


def test_a_part_that_is_needed(tmp_path: Path) -> None:
    with pytest.raises(loopdbg.ExecutionError) as caught:
        loaded(tmp_path, NEEDED).run({})
    assert (caught.value.name, caught.value.got) == ("Constant_1", "2 parts")
    (total,) = loaded(tmp_path, NEEDED, 2).run({}).values()
    assert total.tolist() == [3, 5, 7]


def test_branches_of_two_shapes(tmp_path: Path) -> None:
    inputs = CONDITIONAL.replace("CONDITION", 'network.add_input("p", trt.bool, ())')
    output = r"gives \[2,1\], .* the false branch \[2\], .* they must have one shape"
    with pytest.raises(loopdbg.ModelError, match=output):
        loaded(tmp_path, NEEDED + inputs, 2)
    fixed = CONDITIONAL.replace("CONDITION", "c(network, True, np.bool_)")
    outputs = loaded(tmp_path, NEEDED + fixed, 2).run({"x": np.float32([1, 2])})
    assert [value.shape for value in outputs.values()] == [(3,), (2, 1)]


def test_the_sum_is_called_sum(tmp_path: Path) -> None:
    with pytest.raises(loopdbg.LoopdbgError, match=r"it is called ElementWiseOperation\.SUM"):
        loaded(tmp_path, "    network.add_elementwise(m, m, E.ADD)\n")
