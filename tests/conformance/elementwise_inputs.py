"""Inputs of elementwise operators, edge values among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from .single_node import Array

F16, F32, F64 = np.float16, np.float32, np.float64


I8, I32, I64, U8, U32 = np.int8, np.int32, np.int64, np.uint8, np.uint32


SHAPES = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((1, 1), (2, 0))]


EDGES = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-30, 88.0, -88.0, 100.0, -100.0, 3e38]


def edges(dtype: Any) -> Array:
    """The edge values that a dtype has."""
    values = np.array(EDGES)
    if np.dtype(dtype).kind == "f":
        return values[np.isnan(values) | np.isinf(values) | (abs(values) < float(np.finfo(dtype).max))].astype(dtype)
    fitting = values[np.isfinite(values) & (abs(values) <= 100)]
    return (abs(fitting) if np.dtype(dtype).kind == "u" else fitting).astype(dtype)


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    """Numbers between -4 and 4 without zeros, or booleans."""
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return np.asarray(rng.integers(0, 2, shape).astype(bool))
    if np.dtype(dtype).kind == "f":
        return np.asarray(rng.uniform(0.25, 4, shape) * rng.choice([-1, 1], shape), dtype)
    numbers = rng.integers(1, 5, shape)
    return np.asarray(numbers if np.dtype(dtype).kind == "u" else numbers * rng.choice([-1, 1], shape), dtype)


def rows_by_dtype(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Rows of an operator, its opset if any, dtypes and attributes, with one dtype each."""
    return [
        pytest.param(
            op,
            *opset,
            dtype,
            attributes,
            id="-".join([op, np.dtype(dtype).name, *(f"{name}={value}" for name, value in attributes.items())]),
        )
        for op, *opset, dtypes, attributes in rows
        for dtype in dtypes
    ]
