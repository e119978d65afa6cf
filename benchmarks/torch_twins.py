"""The benchmark loops in PyTorch, compiled by torch.compile for the CPU: the alternative of a user who keeps the
module.

Loops are ``while_loop`` and ``scan``, which are compiled as loops; PyTorch and g++ are needed. No twin exists for
growing values, which have no static shape, and for a ``while_loop`` that collects rows, which would copy all of them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from c_twins import NoTwinError
from case import BenchmarkCase, Inputs, Outputs


@dataclass(frozen=True)
class _TorchTwin:
    """A function of tensors. ``input_names``: its model inputs; ``output_names``: the names of its results."""

    run: Callable[..., Any]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]


def _import_modules() -> tuple[Any, Any, Any]:
    import torch
    from torch._higher_order_ops import while_loop
    from torch._higher_order_ops.scan import scan

    return torch, while_loop, scan


def _scalar(weights: Inputs) -> _TorchTwin:
    torch, while_loop, _ = _import_modules()

    def run(trips: Any, v0: Any, a: Any, b: Any, limit: Any) -> Any:
        def condition(i: Any, keep: Any, v: Any) -> Any:
            return (i < trips) & keep

        def step(i: Any, keep: Any, v: Any) -> Any:
            v = v * a + b
            return i + 1, v < limit, v

        return while_loop(condition, step, (torch.zeros_like(trips), torch.tensor(True), v0.clone()))[2]

    return _TorchTwin(run, ("M", "v0", "a", "b", "limit"), ("v_last",))


def _collatz(weights: Inputs) -> _TorchTwin:
    torch, while_loop, _ = _import_modules()

    def run(trips: Any, start: Any, addend: Any) -> Any:
        def condition(i: Any, keep: Any, n: Any) -> Any:
            return (i < trips) & keep

        def step(i: Any, keep: Any, n: Any) -> Any:
            n = torch.where(n % 2 == 0, n // 2, n * 3 + addend)
            return i + 1, n > 1, n

        return while_loop(condition, step, (torch.zeros_like(trips), torch.tensor(True), start.clone()))[2]

    return _TorchTwin(run, ("M", "start", "addend"), ("n_last",))


def _heat(weights: Inputs) -> _TorchTwin:
    torch, while_loop, _ = _import_modules()

    def run(trips: Any, u0: Any, k: Any, tol: Any) -> Any:
        def condition(i: Any, keep: Any, u: Any) -> Any:
            return (i < trips) & keep

        def step(i: Any, keep: Any, u: Any) -> Any:
            padded = torch.nn.functional.pad(u[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
            vertical, horizontal = padded[:-2, 1:-1] + padded[2:, 1:-1], padded[1:-1, :-2] + padded[1:-1, 2:]
            change = (vertical + horizontal - u * 4) * k
            return i + 1, change.abs().max() > tol, u + change

        return while_loop(condition, step, (torch.zeros_like(trips), torch.tensor(True), u0.clone()))[2]

    return _TorchTwin(run, ("M", "u0", "k", "tol"), ("u_last",))


def _lstm_layer(weights: Inputs, n: int) -> Callable[..., Any]:
    torch, _, scan = _import_modules()
    w, r, b = (torch.from_numpy(np.array(weights[f"{name}{n}"])) for name in "WRb")

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, o, f, g = (x @ w + h @ r + b).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return (h, c), h.clone()

    return lambda xs, h, c: scan(step, (h.clone(), c.clone()), xs)


def _lstm(weights: Inputs) -> _TorchTwin:
    layer = _lstm_layer(weights, 1)

    def run(xs: Any, h0: Any, c0: Any) -> Any:
        (h, c), rows = layer(xs, h0, c0)
        return rows, h, c

    return _TorchTwin(run, ("X", "h0", "c0"), ("h1_rows", "h1_last", "c1_last"))


def _two_lstm(weights: Inputs) -> _TorchTwin:
    first, second = _lstm_layer(weights, 1), _lstm_layer(weights, 2)

    def run(xs: Any, h0: Any, c0: Any) -> Any:
        (h, c), rows = second(first(xs, h0, c0)[1], h0, c0)
        return rows, h, c

    return _TorchTwin(run, ("X", "h0", "c0"), ("h2_rows", "h2_last", "c2_last"))


def _ssm(weights: Inputs) -> _TorchTwin:
    _, _, scan = _import_modules()

    def run(a: Any, b: Any, x: Any, c: Any, h0: Any) -> Any:
        def step(h: Any, parts: Any) -> Any:
            h = parts[0] * h + parts[1] * parts[2]
            return h, (h * c).sum(2)

        return scan(step, h0.clone(), (a, b, x))

    return _TorchTwin(run, ("a", "b", "x", "c", "h0"), ("h_last", "y"))


def _greedy(weights: Inputs) -> _TorchTwin:
    torch, while_loop, _ = _import_modules()
    w = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    steps = int(weights["M"])

    def run(token0: Any, h0: Any) -> Any:
        positions = torch.arange(steps)

        def condition(i: Any, token: Any, h: Any, tokens: Any) -> Any:
            return (i < steps) & ((token != 0) | (i == 0))

        def step(i: Any, token: Any, h: Any, tokens: Any) -> Any:
            x_z, x_r, x_n = (w["embedding"].index_select(0, token.reshape(1))[0] @ w["W"] + w["b"]).chunk(3, 1)
            h_z, h_r, h_n = (h @ w["R"]).chunk(3, 1)
            update = torch.sigmoid(x_z + h_z)
            candidate = torch.tanh(x_n + torch.sigmoid(x_r + h_r) * h_n)
            h = update * h + (1 - update) * candidate
            token = (h @ w["to_logits"]).argmax(1)[0]
            return i + 1, token, h, torch.where(positions == i, token, tokens)

        start = torch.tensor(0), token0.clone(), h0.clone(), torch.zeros(steps, dtype=torch.int64)
        _, _, h, tokens = while_loop(condition, step, start)
        return tokens, h

    return _TorchTwin(run, ("token0", "h0"), ("tokens", "h_last"))


_TWINS: dict[str, Callable[[Inputs], _TorchTwin]] = {
    "scalar": _scalar,
    "collatz": _collatz,
    "heat": _heat,
    "lstm": _lstm,
    "ssm": _ssm,
    "two_lstm": _two_lstm,
    "greedy": _greedy,
}


def prepare(
    case: BenchmarkCase, inputs: Inputs, threads: int | None
) -> tuple[Callable[[], Any], Callable[[Any], Outputs], float]:
    """Return the case's compiled twin, a converter of its results to arrays, and the compilation time in seconds.

    Raises:
        NoTwinError: no twin, or no g++; ModuleNotFoundError: no PyTorch.
    """
    if case.name not in _TWINS:
        raise NoTwinError
    torch, _, _ = _import_modules()
    if shutil.which("g++") is None:
        raise NoTwinError("no g++")
    if threads is not None:
        torch.set_num_threads(threads)
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in case.build().graph.initializer}
    twin = _TWINS[case.name](weights)
    arguments = [torch.from_numpy(np.array(inputs[name])) for name in twin.input_names]
    compiled = torch.compile(twin.run, fullgraph=True)
    started = time.perf_counter()
    with torch.inference_mode():
        compiled(*arguments)
    seconds = time.perf_counter() - started

    def run() -> Any:
        with torch.inference_mode():
            return compiled(*arguments)

    def outputs(values: Any) -> Outputs:
        flat = torch.utils._pytree.tree_leaves(values)
        return {name: np.array(value) for name, value in zip(twin.output_names, flat, strict=True)}

    return run, outputs, seconds
