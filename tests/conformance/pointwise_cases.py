"""Inputs for operators whose elements come each of those in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from loopdbg.runtime.graph import System

from .operator_cases import (
    ALL_TYPES,
    ONNX_TYPE,
    OPENVINO_TYPE,
    CaseGenerator,
    OperatorCase,
    all_pairs,
    all_triples,
    order_sensitive_numbers,
    special_values,
)


def unary_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([special_values(dtype)])


def binary_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase(list(all_pairs(special_values(dtype), special_values(dtype))))


def ternary_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase(all_triples(dtype))


def with_attributes(cases: CaseGenerator, **attributes: Any) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for case in cases(dtype, version):
            yield OperatorCase(case.inputs, {**attributes, **case.attributes}, case.n_outputs)

    return each


def divisions(dtype: str, version: int) -> Iterator[OperatorCase]:
    a, b = all_pairs(special_values(dtype), special_values(dtype))
    if np.dtype(dtype).kind != "f":
        a, b = a[b != 0], b[b != 0]
    yield OperatorCase([a, b])


def powers(dtype: str, version: int) -> Iterator[OperatorCase]:
    a, b = all_pairs(special_values(dtype), special_values(dtype))
    if np.dtype(dtype).kind == "i":
        a, b = a[(a != 0) | (b >= 0)], b[(a != 0) | (b >= 0)]
    yield OperatorCase([a, b])


def where_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    a, b = all_pairs(special_values(dtype), special_values(dtype))
    yield OperatorCase([np.arange(len(a)) % 3 == 0, a, b])


def casts(system: System) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for target in ALL_TYPES:
            if system is System.OPENVINO:
                yield OperatorCase([special_values(dtype)], {"destination_type": OPENVINO_TYPE[target]})
            else:
                old = {"float32": "FLOAT", "float64": "DOUBLE"}.get(target, target.upper())
                yield OperatorCase([special_values(dtype)], {"to": old if version < 6 else ONNX_TYPE[target]})

    return each


def casts_like(dtype: str, version: int) -> Iterator[OperatorCase]:
    for target in ALL_TYPES:
        yield OperatorCase([special_values(dtype), np.resize(special_values(target), len(special_values(dtype)))])


def attribute_variants(cases: CaseGenerator, *ways: dict[str, Any]) -> CaseGenerator:
    """The same inputs with several sets of attributes."""

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for way in ways:
            yield from with_attributes(cases, **way)(dtype, version)

    return each


def by_version(new: CaseGenerator, old: CaseGenerator, since: int) -> CaseGenerator:
    return lambda dtype, version: (new if version >= since else old)(dtype, version)


def dequantize_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x = special_values(dtype)
    yield OperatorCase([x, np.float32(0.3).reshape(())])
    yield OperatorCase([x, np.float32(0.3).reshape(()), np.array(2, dtype)])
    grid = np.resize(x, (5, 7))
    yield OperatorCase([grid, order_sensitive_numbers("float32", 7), np.resize(x, 7)], {"axis": 1})
    yield OperatorCase([grid, order_sensitive_numbers("float32", 5)], {"axis": 0})


def quantize_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x, grid = special_values(dtype), np.resize(special_values(dtype), (5, 70))
    scale = np.array(0.3, dtype)
    yield OperatorCase([x, scale])
    for zero in (np.array(7, np.uint8), np.array(-3, np.int8), *((np.array(900, np.int16),) if version > 19 else ())):
        yield OperatorCase([x, scale, zero])
        yield OperatorCase([grid, np.abs(order_sensitive_numbers(dtype, 70)), np.resize(zero, 70)], {"axis": 1})
        yield OperatorCase([grid, np.abs(order_sensitive_numbers(dtype, 5)), np.resize(zero, 5)], {"axis": 0})
        if version > 19:
            yield OperatorCase(
                [grid, np.abs(order_sensitive_numbers(dtype, 5, 9)), np.resize(zero, (5, 9))],
                {"axis": 1, "block_size": 8},
            )
            yield OperatorCase(
                [grid, np.abs(order_sensitive_numbers(dtype, 3, 70)), np.resize(zero, (3, 70))],
                {"axis": 0, "block_size": 2},
            )


def dynamic_quantize_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for x in (
        special_values(dtype),
        order_sensitive_numbers(dtype, 3, 70),
        order_sensitive_numbers(dtype),
        order_sensitive_numbers(dtype, 0, 4),
        np.zeros(5, dtype),
    ):
        yield OperatorCase([x], {}, 3)
