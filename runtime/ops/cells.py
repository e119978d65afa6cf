"""The recurrent cells that both systems have: one time step of LSTM, GRU and RNN, and sequences of steps.

A step is written over the primitives, and a sequence is its steps one after the other; the products with the input are
one matrix product for all steps. Kernels are bound for short sequences only: each step adds to the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..errors import ModelError, UnsupportedError
from .activations import RECURRENT
from .choice import bounded
from .matmul import product, transposed
from .primitives import NotNative
from .support import constant, full

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any
Activation = Callable[[P, T], T]

#: Steps (of all directions together) up to which a sequence is bound to kernels.
LONGEST_NATIVE = 64


class CellStep(Protocol):
    """One time step: (p, X's products [B, gates * H], state) -> new state; state[0] is the hidden state."""

    def __call__(self, p: P, x: T, state: tuple[T, ...], /) -> tuple[T, ...]: ...


# --- Small tools.


def columns(p: P, x: T, start: int, stop: int) -> T:
    """``x[..., start:stop]``."""
    starts = (0,) * (x.ndim - 1) + (start,)
    return p.slice(x, starts, (1,) * x.ndim, (*x.shape[:-1], stop - start))


def at(p: P, x: T, axis: int, index: int) -> T:
    """``x`` at one index of an axis, which goes away."""
    starts = tuple(index if k == axis else 0 for k in range(x.ndim))
    extents = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    part = p.slice(x, starts, (1,) * x.ndim, extents)
    return p.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :]))


def rows(p: P, x: T, start: int, stop: int) -> T:
    """``x[start:stop]``."""
    starts = (start,) + (0,) * (x.ndim - 1)
    return p.slice(x, starts, (1,) * x.ndim, (stop - start, *x.shape[1:]))


def swap(p: P, x: T, a: int, b: int) -> T:
    perm = list(range(x.ndim))
    perm[a], perm[b] = perm[b], perm[a]
    return p.transpose(x, tuple(perm))


def _times(p: P, x: T, weights: T) -> T:
    """``x @ weights.T``."""
    return product(p, x, transposed(p, weights))


def named_activations(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> list[Activation]:
    """The named functions with their parameters.

    Values are taken from ``alphas`` and ``betas`` in order, by the functions that have such a parameter.

    Raises:
        UnsupportedError: a name that no specification has.
    """
    alphas, betas = list(alphas), list(betas)
    found: list[Activation] = []
    for name in names:
        entry = RECURRENT.get(name.strip().lower())
        if entry is None:
            raise UnsupportedError(f"activation '{name}' is not supported; known are {', '.join(RECURRENT)}")
        function, defaults = entry
        settled = [
            values.pop(0) if values else default for values, default in zip((alphas, betas), defaults, strict=False)
        ]
        found.append(partial(_activate, function, settled))
    return found


def _activate(function: Callable[..., T], settled: Sequence[float], p: P, x: T) -> T:
    return function(p, x, *settled)


def clipped(p: P, x: T, clip: float | None) -> T:
    """A gate's input held in [-clip, clip]; None and 0: as it is."""
    return bounded(p, x, constant(p, -clip, x.dtype), constant(p, clip, x.dtype)) if clip else x


def _one_minus(p: P, x: T) -> T:
    return p.map(np.subtract, constant(p, 1, x.dtype), x)


# --- One step of each cell. Weights [gates * H, ...] have their gates in the order that each function names.


@dataclass
class LstmStep:
    """``order``: the gates' order in the weights. ``peepholes`` belong to the gates i, o, f."""

    recurrence: T
    functions: Sequence[Activation]
    order: str
    peepholes: tuple[T, T, T] | None = None
    #: "": none; "f": f = 1 - i (onnxruntime's input_forget); "i": i = 1 - f (OpenVINO's).
    coupled: str = ""
    #: For the inputs of f and g; both runtimes leave h's alone.
    clip: float | None = None

    def __post_init__(self) -> None:
        self.f, self.g, self.h = self.functions

    def __call__(self, p: P, x: T, state: tuple[T, ...], /) -> tuple[T, ...]:
        hidden, cell = state
        size = hidden.shape[-1]
        gates = p.map(np.add, x, _times(p, hidden, self.recurrence))
        if self.peepholes is None and not self.coupled:
            parts = self._by_blocks(p, gates, size)
        else:
            parts = self._one_by_one(p, gates, size, cell)
        new_cell = p.map(np.add, p.map(np.multiply, parts["f"], cell), p.map(np.multiply, parts["i"], parts["c"]))
        if "o" not in parts:
            weights = self.peepholes[1] if self.peepholes else None
            parts["o"] = self._peeping(p, self._gate(p, gates, size, "o"), weights, new_cell)
        return p.map(np.multiply, parts["o"], self.h(p, new_cell)), new_cell

    def _gate(self, p: P, gates: T, size: int, name: str) -> T:
        start = self.order.index(name) * size
        return columns(p, gates, start, start + size)

    def _by_blocks(self, p: P, gates: T, size: int) -> dict[str, T]:
        """Neighbouring gates of one activation in one call."""
        parts: dict[str, T] = {}
        gates, start = clipped(p, gates, self.clip), 0
        for block in self.order.partition("c"):
            stop = start + len(block)
            if block:
                values = (self.g if block == "c" else self.f)(p, columns(p, gates, start * size, stop * size))
                for k, name in enumerate(block):
                    parts[name] = columns(p, values, k * size, (k + 1) * size) if len(block) > 1 else values
            start = stop
        return parts

    def _one_by_one(self, p: P, gates: T, size: int, cell: T) -> dict[str, T]:
        weights = dict(zip("iof", self.peepholes, strict=True)) if self.peepholes else {}
        parts = {
            name: self._peeping(p, self._gate(p, gates, size, name), weights.get(name), cell)
            for name in "if"
            if name != self.coupled
        }
        if self.coupled:
            parts[self.coupled] = _one_minus(p, parts["i" if self.coupled == "f" else "f"])
        parts["c"] = self.g(p, clipped(p, self._gate(p, gates, size, "c"), self.clip))
        return parts

    def _peeping(self, p: P, gate: T, weights: T | None, cell: T) -> T:
        if weights is not None:
            gate = p.map(np.add, gate, p.map(np.multiply, weights, cell))
        return self.f(p, clipped(p, gate, self.clip))


@dataclass
class GruStep:
    """Gates z, r, h. ``recurrent_bias`` is the part of h's bias that stays with H (``linear_before_reset``)."""

    recurrence: T
    functions: Sequence[Activation]
    linear_before_reset: bool
    recurrent_bias: T | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        self.f, self.g = self.functions

    def __call__(self, p: P, x: T, state: tuple[T, ...], /) -> tuple[T, ...]:
        (hidden,) = state
        size = hidden.shape[-1]
        if self.linear_before_reset:
            recurrent = _times(p, hidden, self.recurrence)
            linear = columns(p, recurrent, 2 * size, 3 * size)
            if self.recurrent_bias is not None:
                linear = p.map(np.add, linear, self.recurrent_bias)
            recurrent = columns(p, recurrent, 0, 2 * size)
        else:
            recurrent = _times(p, hidden, rows(p, self.recurrence, 0, 2 * size))
        both = self.f(p, clipped(p, p.map(np.add, columns(p, x, 0, 2 * size), recurrent), self.clip))
        update, reset = columns(p, both, 0, size), columns(p, both, size, 2 * size)
        if self.linear_before_reset:
            linear = p.map(np.multiply, reset, linear)
        else:
            kept = rows(p, self.recurrence, 2 * size, 3 * size)
            linear = _times(p, p.map(np.multiply, reset, hidden), kept)
        new = self.g(p, clipped(p, p.map(np.add, columns(p, x, 2 * size, 3 * size), linear), self.clip))
        old = p.map(np.multiply, update, hidden)
        return (p.map(np.add, p.map(np.multiply, _one_minus(p, update), new), old),)


@dataclass
class RnnStep:
    """One gate."""

    recurrence: T
    functions: Sequence[Activation]
    clip: float | None = None

    def __post_init__(self) -> None:
        (self.f,) = self.functions

    def __call__(self, p: P, x: T, state: tuple[T, ...], /) -> tuple[T, ...]:
        return (self.f(p, clipped(p, p.map(np.add, x, _times(p, state[0], self.recurrence)), self.clip)),)


def inputs_product(p: P, x: T, weights: T, bias: T | None) -> T:
    """``x @ weights.T + bias`` for x [..., I], as one matrix product."""
    flat = p.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    result = _times(p, flat, weights)
    if bias is not None:
        result = p.map(np.add, result, bias)
    return p.reshape(result, (*x.shape[:-1], weights.shape[0]))


# --- Sequences.


@dataclass
class Direction:
    """One direction of a sequence: X's products [T, B, gates * H], the step, the initial state (each [B, H])."""

    products: T
    step: CellStep
    state: tuple[T, ...]
    reverse: bool


def run(p: P, directions: Sequence[Direction], lengths: T | None) -> tuple[T, tuple[T, ...]]:
    """All steps of all directions.

    Returns Y [T, D, B, H] and the last states, each [D, B, H]. Beyond a sequence's own length Y is 0 and the state
    stays; a reverse direction starts at the sequence's own end.
    """
    steps = directions[0].products.shape[0]
    if p.emits and steps * len(directions) > LONGEST_NATIVE:
        raise NotNative(f"a sequence of {steps} steps")
    hidden = directions[0].state[0]
    masks = _masks(p, lengths, steps, hidden.shape[0])
    pieces, finals = [], []
    for d, direction in enumerate(directions):
        state = direction.state
        for t in reversed(range(steps)) if direction.reverse else range(steps):
            new = direction.step(p, at(p, direction.products, 0, t), state)
            output = new[0]
            if masks[t] is not None:
                output = p.where(masks[t], output, full(p, hidden.shape, 0, hidden.dtype))
                new = tuple(p.where(masks[t], a, b) for a, b in zip(new, state, strict=True))
            state = new
            pieces.append((p.reshape(output, (1, 1, *hidden.shape)), (t, d, 0, 0)))
        finals.append(state)
    outputs = p.assemble((steps, len(directions), *hidden.shape), hidden.dtype, pieces)
    return outputs, tuple(_stacked(p, parts) for parts in zip(*finals, strict=True))


def _stacked(p: P, parts: Sequence[T]) -> T:
    shape = parts[0].shape
    pieces = [(p.reshape(part, (1, *shape)), (d,) + (0,) * len(shape)) for d, part in enumerate(parts)]
    return p.assemble((len(parts), *shape), parts[0].dtype, pieces)


def _masks(p: P, lengths: T | None, steps: int, batch: int) -> list[T | None]:
    """For each step [B, 1]: the sequences that reach it; None where all do."""
    if lengths is None:
        return [None] * steps
    own = p.value(lengths).reshape(-1)
    if own.shape != (batch,) or np.any(own < 0) or np.any(own > steps):
        raise ModelError(f"sequence lengths {own.tolist()} for a batch of {batch} and {steps} steps")
    return [None if np.all(own > t) else p.constant((own > t)[:, None]) for t in range(steps)]


def backwards_of(direction: str) -> list[bool]:
    """For each direction: whether it runs backwards."""
    known = {"forward": [False], "foward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction.lower() not in known:  # "foward": GRU-1's own default
        raise ModelError(f"direction '{direction}' is none of forward, reverse, bidirectional")
    return known[direction.lower()]


def of_shape(x: T, what: str, expected: tuple[int, ...]) -> T:
    if tuple(x.shape) != expected:
        raise ModelError(f"{what} has shape {x.shape} instead of {expected}")
    return x
