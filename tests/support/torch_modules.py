"""Small PyTorch modules with loops, their inputs, and the ONNX models exported from them."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.scan import scan


class NestedLoopModule(torch.nn.Module):
    """A nested loop, whose inner trip count depends on the outer iteration."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3) * 0.3)

    def forward(self, x):
        def inner(k, n, y):
            return k + 1, n.clone(), torch.tanh(y @ self.weight) + y * 0.5

        def outer(i, y):
            _, _, z = while_loop(lambda k, n, y: k < n + 1, inner, (torch.zeros_like(i), i.clone(), y.clone()))
            scaled = z * 0.9
            return i + 1, scaled - y * 0.1

        return while_loop(lambda i, y: i < 3, outer, (torch.tensor(0), x.clone()))[1]


class BranchInLoopModule(torch.nn.Module):
    """A branch in a loop, taken both ways."""

    def forward(self, x, limit):
        def up(y, k):
            doubled = y * 2.0
            return doubled + k

        def down(y, k):
            return y / 3.0 - k

        def body(k, y):
            z = torch.cond(y.sum() < limit, up, down, (y, k))
            return k + 1, torch.sin(z) + z

        return while_loop(lambda k, y: k < 6, body, (torch.tensor(0), x.clone()))[1]


class HandWrittenCellModule(torch.nn.Module):
    """A hand-written cell over the rows of a sequence; its results are stacked, with in-place operators."""

    def __init__(self, hidden=4):
        super().__init__()
        self.gates = torch.nn.Linear(hidden + 3, 3 * hidden)
        self.hidden = hidden

    def forward(self, x):
        def combine(h, row):
            forget, new, out = self.gates(torch.cat([row, h], 1)).chunk(3, 1)
            forget = torch.sigmoid(forget)
            h = h.mul(forget).add_(torch.tanh(new).mul_(1 - forget))
            return h, torch.sigmoid(out) * h

        return scan(combine, x.new_zeros(x.size(1), self.hidden), x, dim=0)


class MultipleOutputsModule(torch.nn.Module):
    """An operator with several results, and indices."""

    def forward(self, scores):
        def body(k, s, seen):
            best, index = torch.topk(s, 2)
            low, high = torch.split(s, [3, 5])
            s = torch.cat([high - best[0], low + best[1]])
            return k + 1, s, torch.where(torch.arange(5) == k, index[0], seen)

        start = (torch.tensor(0), scores.clone(), torch.full((5,), -1))
        return while_loop(lambda k, s, seen: k < 5, body, start)[1:]


class RecurrentLayersModule(torch.nn.Module):
    """Recurrent layers that are single operators."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = torch.nn.GRU(8, 5)
        self.rnn = torch.nn.RNN(5, 2, nonlinearity="relu")

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, _ = self.gru(y.transpose(0, 1))
        return self.rnn(z)[0], h + c


class CellLoopModule(torch.nn.Module):
    """Cells that Python calls in a loop: an export has a node for each call."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.LSTMCell(3, 4)
        self.second = torch.nn.GRUCell(4, 2)

    def forward(self, x):
        h, c, g = x.new_zeros(x.size(1), 4), x.new_zeros(x.size(1), 4), x.new_zeros(x.size(1), 2)
        for row in x.unbind(0):
            h, c = self.first(row, (h, c))
            g = self.second(h, g)
        return g


class DataDependentModule(torch.nn.Module):
    """A module that cannot be exported: its trip count depends on its data."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.RNNCell(3, 3)

    def forward(self, x):
        h = torch.zeros_like(x)
        while h.abs().sum().item() < 4:
            h = h + self.cell(x, h).abs() + 0.25
        return h


class FailingWhileModule(torch.nn.Module):
    """A module that fails in iteration 3, where the row does not exist."""

    def forward(self, x):
        def body(k, y):
            return k + 1, y + x.index_select(0, k.reshape(1)).squeeze(0)

        return while_loop(lambda k, y: k < 5, body, (torch.tensor(0), torch.zeros_like(x[0])))[1]


@dataclass(frozen=True)
class TorchCase:
    """A module with its inputs by name, and the names of its outputs in a model."""

    make: Callable[[], torch.nn.Module]
    inputs: Callable[[], Mapping[str, torch.Tensor]]
    outputs: tuple[str, ...] = ("y",)

    def module(self) -> torch.nn.Module:
        torch.manual_seed(0)
        return self.make().eval()

    def arrays(self) -> dict[str, Any]:
        return {name: value.numpy() for name, value in self.inputs().items()}


def _random_tensor(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(7).standard_normal(shape).astype(np.float32))


CASES = {
    "nested": TorchCase(NestedLoopModule, lambda: {"x": _random_tensor(2, 3)}),
    "branches": TorchCase(BranchInLoopModule, lambda: {"x": _random_tensor(4), "limit": torch.tensor(3.0)}),
    "written": TorchCase(HandWrittenCellModule, lambda: {"x": _random_tensor(6, 2, 3)}, ("last", "rows")),
    "picking": TorchCase(MultipleOutputsModule, lambda: {"scores": _random_tensor(8)}, ("scores_last", "seen")),
    "layers": TorchCase(RecurrentLayersModule, lambda: {"x": _random_tensor(2, 5, 3)}, ("y", "states")),
    "cells": TorchCase(CellLoopModule, lambda: {"x": _random_tensor(5, 2, 3)}),
}


def export_onnx(program: torch.export.ExportedProgram, case: TorchCase, path: Path) -> Path:
    """The ONNX model of a program, as PyTorch writes it."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), _single_version_functions():
        warnings.simplefilter("ignore")
        result = torch.onnx.export(
            program,
            dynamo=True,
            input_names=list(case.inputs()),
            output_names=list(case.outputs),
            external_data=False,
            verbose=False,
        )
        result.save(str(path))
    return path


@contextlib.contextmanager
def _single_version_functions() -> Iterator[None]:
    """Give the exporter's functions a single version: its version converter requires that for nested loops and
    branches, but it writes two."""
    from torch.onnx._internal.exporter import _core

    convert = _core.onnxscript_apis.convert_version

    def unified(model: Any, *arguments: Any) -> Any:
        for function in model.functions.values():
            function.opset_imports.update(
                (domain, model.opset_imports[domain]) for domain in function.opset_imports if domain.startswith("pkg.")
            )
        return convert(model, *arguments)

    with patch.object(_core.onnxscript_apis, "convert_version", unified):
        yield
