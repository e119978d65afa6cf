"""What the tests of shape, movement and sequence operators share: data, and nodes that ours and the peer refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System

from .single_node import Array, attribute_text, onnxruntime_outputs, openvino_outputs, run_here

DTYPES = [np.float32, np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8, np.bool_, object]
#: How an operator refuses its inputs or attributes.
REFUSED = (ValueError, IndexError, ModelError)


def counting_tensor(*shape: int, dtype: Any = np.float32) -> Array:
    """1, 2, 3 ... in a shape; as strings for dtype object."""
    numbers = np.arange(1, int(np.prod(shape, dtype=np.int64)) + 1).reshape(shape)
    return numbers.astype(str).astype(object) if dtype is object else numbers.astype(dtype)


def i64(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def run_operator(
    system: System, op_type: str, *inputs: Any, version: int, n_outputs: int = 1, **attributes: Any
) -> Any:
    """The first output of one of our operators."""
    return run_here(system, op_type, list(inputs), n_outputs, version=version, attributes=attributes)[0]


def both_refuse_onnx(
    op_type: str, inputs: list[Any], opset: int, message: str, n_outputs: int = 1, **attributes: Any
) -> None:
    """Ours refuses the node with a message that holds ``message``, and so does onnxruntime."""
    with pytest.raises(REFUSED, match=message):
        run_operator(System.ONNX, op_type, *inputs, version=opset, n_outputs=n_outputs, **attributes)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        onnxruntime_outputs(op_type, inputs, n_outputs, opset, **attributes)


def both_refuse_openvino(
    op_type: str,
    inputs: list[Any],
    opset: int,
    message: str,
    constant: tuple[int, ...] = (1,),
    n_outputs: int = 1,
    **attributes: Any,
) -> None:
    """Ours refuses the node with a message that holds ``message``, and so does OpenVINO's CPU plugin."""
    texts = {name: attribute_text(value) for name, value in attributes.items()}
    with pytest.raises(REFUSED, match=message):
        run_operator(System.OPENVINO, op_type, *inputs, version=opset, n_outputs=n_outputs, **texts)
    with pytest.raises(RuntimeError):
        openvino_outputs(op_type, inputs, n_outputs, opset, constant, **attributes)
