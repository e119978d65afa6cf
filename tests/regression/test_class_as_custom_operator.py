"""A class of onnx.reference was taken as a custom operator, and then called in a way that cannot work."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx.reference.op_run import OpRun

import loopdbg
from error_fields import raises_error
from text_models import load_proto

TEXT = """<ir_version: 10, opset_import: ["": 18, "test.classes": 1]>
g (float[3] x) => (float[3] y) { y = test.classes.NAME <low = 0.5> (x) }"""


class AtLeastOperator(OpRun):
    """low where it is less."""

    op_domain = "test.classes"

    def _run(self, x: Any, low: Any = None) -> tuple[Any]:
        assert self.low == low
        return (np.maximum(x, np.float32(low)),)


def test_its_method_is_called() -> None:
    loopdbg.operator("test.classes", "AtLeast")(AtLeastOperator)
    m = load_proto(onnx.parser.parse_model(TEXT.replace("NAME", "AtLeast")))
    assert m.run({"x": np.float32([0, 1, 2])})["y"].tolist() == [0.5, 1, 2]


@pytest.mark.parametrize("inputs", [int, "text", 3])
def test_what_is_no_function_is_refused_at_once(inputs: Any) -> None:
    with raises_error(loopdbg.UsageError, name="Other", expected="a function"):
        loopdbg.operator("test.classes", "Other")(inputs)


class UndescribedOperator(OpRun):
    """Says nothing of what it does."""


def test_a_class_without_a_method_of_its_own_is_refused_at_once() -> None:
    with raises_error(loopdbg.UsageError, name="Other", expected="an OpRun class with _run", got="UndescribedOperator"):
        loopdbg.operator("test.classes", "Other")(UndescribedOperator)
