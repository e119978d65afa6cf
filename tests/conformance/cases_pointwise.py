"""Inputs for operators whose elements come each of those in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from loopdbg.runtime.graph import System

from .case_values import ALL, ONNX_TYPE, OPENVINO_TYPE, Case, Cases, pairs, tame, triples, values


def one(dtype: str, version: int) -> Iterator[Case]:
    yield Case([values(dtype)])


def two(dtype: str, version: int) -> Iterator[Case]:
    yield Case(list(pairs(values(dtype), values(dtype))))


def three(dtype: str, version: int) -> Iterator[Case]:
    yield Case(triples(dtype))


def with_attributes(cases: Cases, **attributes: Any) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for case in cases(dtype, version):
            yield Case(case.inputs, {**attributes, **case.attributes}, case.n_outputs)

    return each


def divisions(dtype: str, version: int) -> Iterator[Case]:
    a, b = pairs(values(dtype), values(dtype))
    if np.dtype(dtype).kind != "f":
        a, b = a[b != 0], b[b != 0]
    yield Case([a, b])


def powers(dtype: str, version: int) -> Iterator[Case]:
    a, b = pairs(values(dtype), values(dtype))
    if np.dtype(dtype).kind == "i":
        a, b = a[(a != 0) | (b >= 0)], b[(a != 0) | (b >= 0)]
    yield Case([a, b])


def chosen(dtype: str, version: int) -> Iterator[Case]:
    a, b = pairs(values(dtype), values(dtype))
    yield Case([np.arange(len(a)) % 3 == 0, a, b])


def casts(system: System) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for target in ALL:
            if system is System.OPENVINO:
                yield Case([values(dtype)], {"destination_type": OPENVINO_TYPE[target]})
            else:
                old = {"float32": "FLOAT", "float64": "DOUBLE"}.get(target, target.upper())
                yield Case([values(dtype)], {"to": old if version < 6 else ONNX_TYPE[target]})

    return each


def casts_like(dtype: str, version: int) -> Iterator[Case]:
    for target in ALL:
        yield Case([values(dtype), np.resize(values(target), len(values(dtype)))])


def each_way(cases: Cases, *ways: dict[str, Any]) -> Cases:
    """The same inputs with several sets of attributes."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for way in ways:
            yield from with_attributes(cases, **way)(dtype, version)

    return each


def either(new: Cases, old: Cases, since: int) -> Cases:
    return lambda dtype, version: (new if version >= since else old)(dtype, version)


def quantised(dtype: str, version: int) -> Iterator[Case]:
    x = values(dtype)
    yield Case([x, np.float32(0.3).reshape(())])
    yield Case([x, np.float32(0.3).reshape(()), np.array(2, dtype)])
    grid = np.resize(x, (5, 7))
    yield Case([grid, tame("float32", 7), np.resize(x, 7)], {"axis": 1})
    yield Case([grid, tame("float32", 5)], {"axis": 0})


def quantising(dtype: str, version: int) -> Iterator[Case]:
    x, grid = values(dtype), np.resize(values(dtype), (5, 70))
    scale = np.array(0.3, dtype)
    yield Case([x, scale])
    for zero in (np.array(7, np.uint8), np.array(-3, np.int8), *((np.array(900, np.int16),) if version > 19 else ())):
        yield Case([x, scale, zero])
        yield Case([grid, np.abs(tame(dtype, 70)), np.resize(zero, 70)], {"axis": 1})
        yield Case([grid, np.abs(tame(dtype, 5)), np.resize(zero, 5)], {"axis": 0})
        if version > 19:
            yield Case([grid, np.abs(tame(dtype, 5, 9)), np.resize(zero, (5, 9))], {"axis": 1, "block_size": 8})
            yield Case([grid, np.abs(tame(dtype, 3, 70)), np.resize(zero, (3, 70))], {"axis": 0, "block_size": 2})


def ranges_quantised(dtype: str, version: int) -> Iterator[Case]:
    for x in (values(dtype), tame(dtype, 3, 70), tame(dtype), tame(dtype, 0, 4), np.zeros(5, dtype)):
        yield Case([x], {}, 3)
