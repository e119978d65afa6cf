"""What was transposed to another shape with the same numbers in their order passed for the same: what reads it was
blamed, or nothing was."""

from __future__ import annotations

import numpy as np

from exporter_metadata import model_with_metadata, program_track
from loopdbg.debugger.compare.reference_match.reference_comparison import compare_reference
from loopdbg.debugger.compare.report.findings import Comparison, Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.reference.reference import Reference

X = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
#: As exporters do, the model states the shapes of its values.
TEXT = """g (float[1,2,3] x) => (float[1,3,2] y) <float[1,2,3] a, float[1,2,3] b> {
    a = Transpose <perm = [%s]> (x)
    b = Tanh(a)
    y = Transpose <perm = [0, 2, 1]> (b)
}"""


def compared(permutation: str) -> Comparison:
    b = np.tanh(X)
    tracks = [
        program_track("transpose", "%x", value=X),
        program_track("tanh", "%transpose", value=b),
        program_track("transpose_1", "%tanh", value=b.transpose(0, 2, 1)),
    ]
    model = model_with_metadata(TEXT % permutation, ["transpose", "tanh", "transpose_1"])
    return compare_reference(ModelSide(model, {"x": X}), Reference("program", tracks), ComparisonOptions())


def test_a_transposition_to_a_shape_that_reads_alike_is_named() -> None:
    assert compared("0, 1, 2").verdict is Verdict.SAME
    result = compared("1, 0, 2")  # [2,1,3]: the same six numbers in the same order
    assert result.verdict is Verdict.DIFFER
    assert result.cause is not None and result.cause.node is not None
    assert (result.cause.node.op_type, result.cause.node.name) == ("Transpose", "a")
    assert result.outputs[0].delta.text == "[2, 1, 3] and [1, 2, 3]"
