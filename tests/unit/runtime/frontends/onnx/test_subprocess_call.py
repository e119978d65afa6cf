"""Calls in a process of their own. Other tests fork one process for them (``tests/conftest.py``)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import onnx
import pytest

from loopdbg.runtime.frontends.onnx import operator_function_bodies, type_checks
from loopdbg.runtime.frontends.onnx import subprocess_call as place
from loopdbg.runtime.frontends.onnx.subprocess_call import call_in_subprocess
from loopdbg.runtime.graph import TensorType

from .onnx_texts import proto


def test_subprocess_call_runs_in_another_process() -> None:
    assert call_in_subprocess(eval, "__import__('os').getpid()") not in (None, os.getpid())


def test_subprocess_call_returns_none_when_function_raises() -> None:
    assert call_in_subprocess(int, "no number") is None


def test_subprocess_call_returns_none_when_function_exits() -> None:
    assert call_in_subprocess(os._exit, 0) is None


def test_subprocess_call_returns_none_at_cpu_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_CPU_LIMIT_SECONDS", 1)
    assert call_in_subprocess(eval, "[0 for _ in iter(int, 1)]") is None


def test_subprocess_call_returns_none_at_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_TIMEOUT_SECONDS", 0.5)
    assert call_in_subprocess(time.sleep, 3600) is None


def test_inference_is_such_a_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (place, type_checks):
        monkeypatch.setattr(module, "call_in_subprocess", call_in_subprocess)
    model = proto("g (float[2] x) => (float[3] y) { z = Neg (x) y = Abs (z) }")
    assert (
        operator_function_bodies.InferredTypes(model).type_of((), "z") == model.graph.input[0].type.SerializeToString()
    )
    onnx.save(model, tmp_path / "m.onnx")
    result = type_checks.contradictory_shapes(tmp_path / "m.onnx")
    assert result == [("y", TensorType("float32", (3,)), TensorType("float32", (2,)))]
