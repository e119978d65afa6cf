"""What cases of operators of ``com.microsoft`` are made of: one node each, from random numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class MicrosoftCase:
    """One node. ``constant``: inputs that onnxruntime, or the operator, wants to know beforehand."""

    inputs: list[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    constant: tuple[int, ...] = ()
    domain: str = "com.microsoft"
    #: Integers may be one apart: onnxruntime computes them in another precision.
    max_ulp_difference: int = 0
    rtol: float = 1e-5
    atol: float = 2e-6
    #: The element types of outputs that onnxruntime wants declared.
    declared: dict[int, Any] = field(default_factory=dict)
    #: What of an output is looked at, where the rest is left open.
    comparable_part: Callable[[int, Array], Array] = lambda k, x: x


Random = np.random.Generator
CASES: dict[str, Callable[[Random], MicrosoftCase]] = {}


def case(name: str) -> Callable[[Callable[[Random], MicrosoftCase]], Callable[[Random], MicrosoftCase]]:
    def keep(function: Callable[[Random], MicrosoftCase]) -> Callable[[Random], MicrosoftCase]:
        CASES[name] = function
        return function

    return keep


def random_floats(r: Random, *shape: int) -> Array:
    return r.uniform(-2, 2, shape).astype(np.float32)


def random_integers(r: Random, dtype: Any, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return r.integers(info.min, info.max + 1, shape).astype(dtype)


def or_absent(r: Random, x: Any) -> Any:
    return x if r.random() < 0.6 else None


def pick_one(r: Random, *choices: Any) -> Any:
    return choices[r.integers(len(choices))]
