"""Outputs that TensorRT pads, behind other layers: they are compared as far as both sides go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli as command

#: A loop of three iterations that collects [2, 3] on an axis, with space for more, and what is made of that.
NETWORK = """
import numpy as np
import tensorrt as trt

def build(network):
    def shaped(x, first=None, shape=None, second=None):
        layer = network.add_shuffle(x)
        if first is not None:
            layer.first_transpose = first
        if shape is not None:
            layer.reshape_dims = shape
        if second is not None:
            layer.second_transpose = second
        return layer.get_output(0)

    def constant(array):
        return network.add_constant(array.shape, np.ascontiguousarray(array)).get_output(0)

    start = network.add_input("start", trt.float32, (2, 3))
    loop = network.add_loop()
    count = network.add_constant((), np.array([3], np.int32)).get_output(0)
    loop.add_trip_limit(count, trt.TripLimit.COUNT)
    x = loop.add_recurrence(start)
    twice = network.add_elementwise(x.get_output(0), x.get_output(0), trt.ElementWiseOperation.SUM).get_output(0)
    x.set_input(1, twice)
    collected = loop.add_loop_output(x.get_output(0), trt.LoopOutput.{kind}, {axis})
    collected.set_input(1, network.add_constant((), np.array([{length}], np.int32)).get_output(0))
    xs = collected.get_output(0)
    result = {result}
    result.name = "result"
    network.mark_output(result)
"""
#: What is made of xs, on which axis it is collected, and where its space is then; None: the padding is in all of it.
CASES = [
    ("xs", 0, 0),
    ("xs", 2, 2),
    ("shaped(xs, first=(2, 0, 1))", 0, 1),
    ("shaped(xs, first=(1, 0, 2), shape=(2, -1))", 0, 1),
    ("shaped(xs, first=(1, 0, 2), shape=(2, {length} * 3), second=(1, 0))", 0, 0),
    ("shaped(xs, shape=(-1, 3))", 0, 0),
    ("shaped(xs, shape=(2, {length}, 3, 1))", 1, 1),
    ("shaped(xs, shape=(6, -1))", 2, 1),
    ("network.add_unary(xs, trt.UnaryOperation.COS).get_output(0)", 1, 1),
    ("network.add_elementwise(xs, constant(np.ones((1, 1, 3), np.float32)), trt.ElementWiseOperation.SUM)"
     ".get_output(0)", 0, 0),
    ("network.add_matrix_multiply(xs, trt.MatrixOperation.NONE, constant(np.ones((1, 3, 4), np.float32)),"
     " trt.MatrixOperation.NONE).get_output(0)", 0, 0),
    ("network.add_reduce(xs, trt.ReduceOperation.SUM, 1 << 1, False).get_output(0)", 2, 1),
    ("network.add_gather(xs, constant(np.array([[1, 0]], np.int32)), 0).get_output(0)", 1, 2),
    ("network.add_slice(xs, (0, 0, 1), ({length}, 2, 2), (1, 1, 1)).get_output(0)", 0, 0),
    ("network.add_matrix_multiply(constant(np.ones((1, 4, {length}), np.float32)), trt.MatrixOperation.NONE,"
     " shaped(xs, first=(1, 0, 2)), trt.MatrixOperation.NONE).get_output(0)", 0, None),
    ("shaped(xs, first=(1, 2, 0), shape=(-1,))", 0, None),
    ("network.add_reduce(xs, trt.ReduceOperation.SUM, 1 << 0, False).get_output(0)", 0, None),
]  # fmt: skip


def padded_script(folder: Path, name: str, result: str, axis: int, length: int, kind: str = "CONCATENATE") -> Path:
    path = folder / f"{name}.py"
    message = result.replace("{length}", str(length))
    filled = NETWORK.replace("{result}", message).replace("{axis}", str(axis)).replace("{kind}", kind)
    path.write_text(filled.replace("{length}", str(length)))
    return path


@pytest.mark.parametrize("kind", ["CONCATENATE", "REVERSE"])
@pytest.mark.parametrize(("result", "axis", "where"), CASES)
def test_padding_position(result: str, axis: int, where: int | None, kind: str, tmp_path: Path) -> None:
    results = [loopdbg.load(padded_script(tmp_path, f"n{n}", result, axis, n, kind)) for n in (3, 7)]
    start = np.arange(6, dtype=np.float32).reshape(2, 3)
    exact, padded = (np.asarray(model.run({"start": start})["result"]) for model in results)
    compared = loopdbg.diff(*results, {"start": start})
    if where is None:
        assert not any("padded" in note for note in compared.notes)
        return
    note = f"is padded to {padded.shape[where]}, and n3.py has {exact.shape[where]}: the first"
    assert compared.same and padded.shape[where] > exact.shape[where] and note in compared.notes[0]
    np.testing.assert_array_equal(padded.take(range(exact.shape[where]), where), exact)


def test_padded_outputs_behind_a_transpose_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = "shaped(xs, first=(1, 0, 2), shape=(2, -1))"
    short, long = (padded_script(tmp_path, name, result, 0, n) for name, n in (("short", 3), ("long", 7)))
    ran = command(capsys, "diff", short, long, "--input", "start=[[1,2,3],[4,5,6]]")
    assert ran.status == 0 and "1 output the same" in ran.out
    assert "the output 'result' of long.py is padded to 21, and short.py has 9: the first 9 are compared" in ran.out
    ran = command(capsys, "diff", long, short, "--input", "start=[[1,2,3],[4,5,6]]")
    assert ran.status == 0 and "the first 9 are compared" in ran.out


def test_difference_in_scan_output_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = "shaped(xs, first=(1, 0, 2))"
    short, long = (padded_script(tmp_path, name, result, 0, n) for name, n in (("short", 3), ("long", 7)))
    negated = "result = network.add_unary(result, trt.UnaryOperation.NEG).get_output(0)\n    result.name"
    long.write_text(long.read_text(encoding="utf-8").replace("result.name", negated, 1))
    ran = command(capsys, "diff", short, long, "--input", "start=[[1,2,3],[4,5,6]]")
    assert ran.status == 6 and "output 'result': 18 of 18 elements differ" in ran.out
