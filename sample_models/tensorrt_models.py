"""The inputs of the TensorRT samples; the scripts in ``trt/`` are the models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from sample import Array, SampleModel, uniform

SCRIPTS = Path(__file__).resolve().parent / "trt"


def _int32(*values: int) -> Array:
    return np.array(values, np.int32)


def _scalar(value: float, dtype: type) -> Array:
    return np.array(value, dtype)


_INPUTS: Mapping[str, Mapping[str, Array]] = {
    "counted": {"n": _scalar(5, np.int32), "start": np.array([1, -2, 0.5], np.float32)},
    "halving": {"start": _scalar(1000, np.float32), "limit": _scalar(2, np.float32)},
    "stride": {
        "first": _scalar(1, np.int32),
        "end": _scalar(20, np.int32),
        "step": _scalar(3, np.int32),
        "total": _scalar(0, np.int32),
    },
    "rows_columns": {"matrix": np.array([[2, 3, 5], [4, 6, 8]], np.float32)},
    "char_rnn": {"text": _int32(20, 8, 5, 0, 12, 15, 15, 16, 19, 0)},
    "nested": {"numbers": _int32(7, 1, 12, 27)},
    "greedy": {"first": _int32(0), "state": uniform(41, 1, 16)},
}


def _sample_factory(name: str, inputs: Mapping[str, Array]) -> Callable[[], SampleModel]:
    return lambda: SampleModel({".py": (SCRIPTS / f"{name}.py").read_bytes()}, inputs)


SAMPLES: dict[str, Callable[[], SampleModel]] = {
    f"trt/{name}": _sample_factory(name, inputs) for name, inputs in _INPUTS.items()
}
