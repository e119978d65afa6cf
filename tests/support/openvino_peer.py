"""OpenVINO's CPU plugin as a peer: in float32, on one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np


@cache
def core() -> Any:
    import openvino

    return openvino.Core()


def run(model: Any, feeds: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    """Its outputs, in their order, for a path, the bytes of a file or an OpenVINO model."""
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}
    read = core().read_model(model) if isinstance(model, bytes) else model
    return [np.array(result) for result in core().compile_model(read, "CPU", config)(feeds).values()]


def run_by_name(model: Any, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Its outputs by name."""
    read = core().read_model(model)
    return dict(zip([output.any_name for output in read.outputs], run(read, feeds), strict=True))
