"""One time step of LSTM, GRU and RNN, shared by OpenVINO's cells and by loops that sequences are lowered to.

A step is written in terms of :class:`CellOps`, whose operations name their results. :class:`PrimitiveCellOps`
implements them by primitives, so that a cell is one operator; ``frontends/recurrent`` emits them as nodes of a loop
body, where gates can be inspected by these names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..record import record
from .activations import RECURRENT_ACTIVATIONS
from .elementwise import clamp_to_bounds
from .matmul import matmul_product, swap_matrix_axes
from .operator_helpers import constant

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = TypeVar("T")

#: Kind -> names of the states; the first one is the output.
STATE_NAMES = {"LSTM": ("h", "c"), "GRU": ("h",), "RNN": ("h",)}
#: Kind -> number of gates in the weights.
GATE_COUNTS = {"LSTM": 4, "GRU": 3, "RNN": 1}


@record(frozen=True)
class CellActivation:
    """An activation of a recurrent operator with its parameters (alpha, beta)."""

    name: str
    parameters: tuple[float, ...]

    def __call__(self, p: P, x: Any) -> Any:
        """Apply the activation."""
        return RECURRENT_ACTIVATIONS[self.name][0](p, x, *self.parameters)


def parse_activations(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> list[CellActivation]:
    """Parse activations by name.

    The functions that have such parameters consume ``alphas`` and ``betas`` in order.

    Raises:
        UnsupportedError: a name is unknown.
    """
    alphas, betas = list(alphas), list(betas)
    parsed: list[CellActivation] = []
    for name in names:
        key = name.strip().lower()
        if key not in RECURRENT_ACTIVATIONS:
            raise UnsupportedError(
                f"activation '{name}' is not supported; known are {', '.join(RECURRENT_ACTIVATIONS)}",
                name="activations",
                expected=", ".join(RECURRENT_ACTIVATIONS),
                got=name,
            )
        pairs = zip((alphas, betas), RECURRENT_ACTIVATIONS[key][1], strict=False)
        parsed.append(CellActivation(key, tuple(values.pop(0) if values else default for values, default in pairs)))
    return parsed


class CellOps(Protocol[T]):
    """The operations of a cell step. The last argument names the result."""

    def affine(self, x: T, weights: T, bias: T | None, name: str) -> T:
        """``x @ weights.T + bias``."""

    def add(self, a: T, b: T, name: str) -> T: ...

    def multiply(self, a: T, b: T, name: str) -> T: ...

    def one_minus(self, x: T, name: str) -> T: ...

    def split(self, x: T, names: Sequence[str]) -> list[T]:
        """Equal parts along the last axis."""

    def part(self, x: T, first: int, end: int, total: int, name: str) -> T:
        """Gates from ``first`` up to ``end`` of ``total`` gates along the last axis."""

    def clip(self, x: T, limit: float, name: str) -> T:
        """Clamp ``x`` to [-limit, limit]."""

    def activate(self, function: CellActivation, x: T, name: str) -> T: ...


@record(frozen=True)
class PrimitiveCellOps:
    """:class:`CellOps` by primitives ``p``."""

    p: P

    def affine(self, x: Any, weights: Any, bias: Any | None, name: str) -> Any:
        result = matmul_product(self.p, x, swap_matrix_axes(self.p, weights))
        return result if bias is None else self.p.map(np.add, result, bias)

    def add(self, a: Any, b: Any, name: str) -> Any:
        return self.p.map(np.add, a, b)

    def multiply(self, a: Any, b: Any, name: str) -> Any:
        return self.p.map(np.multiply, a, b)

    def one_minus(self, x: Any, name: str) -> Any:
        return one_minus(self.p, x)

    def split(self, x: Any, names: Sequence[str]) -> list[Any]:
        return [self.part(x, k, k + 1, len(names), name) for k, name in enumerate(names)]

    def part(self, x: Any, first: int, end: int, total: int, name: str) -> Any:
        size = x.shape[-1] // total
        return slice_columns(self.p, x, first * size, end * size)

    def clip(self, x: Any, limit: float, name: str) -> Any:
        return clip_symmetric(self.p, x, limit)

    def activate(self, function: CellActivation, x: Any, name: str) -> Any:
        return function(self.p, x)


def one_minus(p: P, x: Any) -> Any:
    """``1 - x``."""
    return p.map(np.subtract, constant(p, 1, x.dtype), x)


def clip_symmetric(p: P, x: Any, limit: float) -> Any:
    """Clamp ``x`` to [-limit, limit]."""
    return clamp_to_bounds(p, x, constant(p, -limit, x.dtype), constant(p, limit, x.dtype))


@record(frozen=True)
class CellStep:
    """One time step of one direction: the kind of cell and its attributes.

    ``order``: gate order in an LSTM's weights. ``coupled_gate``: "f" for f = 1 - i (onnxruntime's ``input_forget``),
    "i" for i = 1 - f (OpenVINO's). ``clip``: bound of gate inputs; both runtimes exclude the last function of an LSTM.
    ``linear_before_reset``: a GRU's reset gate applies to the product of h.
    """

    kind: str
    functions: Sequence[CellActivation]
    order: str = ""
    coupled_gate: str = ""
    clip: float = 0.0
    linear_before_reset: bool = False

    def project_input(self, m: CellOps[T], x: T, weights: Mapping[str, T]) -> T:
        """The input projection: x [B, I] times W plus biases."""
        return m.affine(x, weights["W"], weights.get("B"), "x_gates")

    def next_states(self, m: CellOps[T], x: T, state: Sequence[T], weights: Mapping[str, T]) -> tuple[T, ...]:
        """The new state from the input projection, the state [B, H] and the weights R, Rb and P."""
        if self.kind == "LSTM":
            return self._lstm(m, x, state[0], state[1], weights)
        if self.kind == "GRU":
            return (self._gru(m, x, state[0], weights),)
        gate = m.affine(state[0], weights["R"], x, "h_in")
        return (self._gate(m, self.functions[0], gate, "h_next"),)

    def _gate(self, m: CellOps[T], function: CellActivation, x: T, name: str) -> T:
        return m.activate(function, m.clip(x, self.clip, f"{name}_clipped") if self.clip else x, name)

    def _lstm(self, m: CellOps[T], x: T, h: T, c: T, weights: Mapping[str, T]) -> tuple[T, T]:
        f, g, output_function = self.functions
        gates = m.affine(h, weights["R"], x, "gates")
        parts = dict(zip(self.order, m.split(gates, [f"{name}_in" for name in self.order]), strict=True))

        def gate(name: str, cell: T) -> T:
            part, peephole = parts[name], weights.get(f"P_{name}")
            if peephole is not None:
                part = m.add(part, m.multiply(peephole, cell, f"{name}_peephole"), f"{name}_peeping")
            return self._gate(m, f, part, name)

        values = {name: gate(name, c) for name in "if" if name != self.coupled_gate}
        if self.coupled_gate:
            values[self.coupled_gate] = m.one_minus(values["i" if self.coupled_gate == "f" else "f"], self.coupled_gate)
        candidate = self._gate(m, g, parts["c"], "c_gate")
        retained, added = m.multiply(values["f"], c, "kept"), m.multiply(values["i"], candidate, "added")
        c_next = m.add(retained, added, "c_next")
        o = gate("o", c_next)
        return m.multiply(o, m.activate(output_function, c_next, "c_out"), "h_next"), c_next

    def _gru(self, m: CellOps[T], x: T, h: T, weights: Mapping[str, T]) -> T:
        f, g = self.functions
        x_zr = m.part(x, 0, 2, 3, "x_zr")
        z_in, r_in = m.split(m.affine(h, weights["R_zr"], x_zr, "gates"), ["z_in", "r_in"])
        z, r = self._gate(m, f, z_in, "z"), self._gate(m, f, r_in, "r")
        if self.linear_before_reset:
            recurrent = m.affine(h, weights["R_h"], weights.get("Rb_h"), "h_linear")
            reset = m.multiply(r, recurrent, "h_reset")
            h_in = m.add(m.part(x, 2, 3, 3, "x_h"), reset, "h_in")
        else:
            reset = m.multiply(r, h, "h_reset")
            h_in = m.affine(reset, weights["R_h"], m.part(x, 2, 3, 3, "x_h"), "h_in")
        candidate = self._gate(m, g, h_in, "h_gate")
        added = m.multiply(m.one_minus(z, "open"), candidate, "added")
        return m.add(added, m.multiply(z, h, "kept"), "h_next")


# --- Weights of one direction: W [gates * H, I], R [gates * H, H], one-dimensional biases and peepholes.


def slice_columns(p: P, x: Any, start: int, stop: int) -> Any:
    """``x[..., start:stop]``."""
    starts = (0,) * (x.ndim - 1) + (start,)
    return p.slice(x, starts, (1,) * x.ndim, (*x.shape[:-1], stop - start))


def slice_rows(p: P, x: Any, start: int, stop: int) -> Any:
    """``x[start:stop]``."""
    starts = (start,) + (0,) * (x.ndim - 1)
    return p.slice(x, starts, (1,) * x.ndim, (stop - start, *x.shape[1:]))


def gate_weights(
    p: P, step: CellStep, w: Any, r: Any, bias: Any | None, recurrent_bias: Any | None, peepholes: Mapping[str, Any]
) -> dict[str, Any]:
    """The weights by the names used in steps. ``bias`` is added to the input projection, ``recurrent_bias`` [H] to the
    product of h in a GRU's last gate."""
    weights = {"W": w, "B": bias}
    if step.kind == "GRU":
        size = r.shape[-1]
        weights |= {
            "R_zr": slice_rows(p, r, 0, 2 * size),
            "R_h": slice_rows(p, r, 2 * size, 3 * size),
            "Rb_h": recurrent_bias,
        }
    else:
        weights |= {"R": r, **{f"P_{name}": part for name, part in peepholes.items()}}
    return {name: value for name, value in weights.items() if value is not None}


def require_shape(x: Any, name: str, expected: tuple[int, ...], reason: str = "") -> Any:
    """Check the shape of ``x``; ``reason`` completes the error message.

    Raises:
        ModelError: the shape differs.
    """
    if tuple(x.shape) != expected:
        got = str(x.shape)
        what = f"{name} has shape {got} instead of {expected}{reason}"
        raise ModelError(what, name=name, expected=str(expected), got=got)
    return x
