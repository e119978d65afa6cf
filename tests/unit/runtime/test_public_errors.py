"""What a public call may raise."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import loopdbg
from error_fields import raises_error
from loopdbg.runtime.api_boundary import ApiBoundary, call_user_function, public, public_class
from loopdbg.runtime.errors import ErrorFields, Remedy, file_error, missing_folder_error
from loopdbg.runtime.graph import SequenceType, TensorType
from loopdbg.runtime.input_validation import check_value
from loopdbg.runtime.ops.axis_arguments import shape_error, unknown_value_error
from text_models import SAMPLES


def raises(error: Exception) -> Callable[[], None]:
    @public
    def function() -> None:
        raise error

    return function


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("no\n number"), loopdbg.UsageError, "no number"),
        (OverflowError("too big"), loopdbg.UsageError, "too big"),
        (UnicodeEncodeError("ascii", "é", 0, 1, "no"), loopdbg.UsageError, "'ascii' codec can't encode character"),
        (RecursionError("maximum recursion depth exceeded"), loopdbg.UsageError, "maximum recursion depth exceeded"),
        (json.JSONDecodeError("no", "x", 0), loopdbg.UsageError, "no: line 1 column 1"),
        (sqlite3.OperationalError("disk I/O error"), loopdbg.UsageError, "disk I/O error"),
        (np.linalg.LinAlgError("singular"), loopdbg.UsageError, "singular"),
        (MemoryError("needs 3 GB"), loopdbg.OutOfMemoryError, "out of memory: needs 3 GB"),
        (RuntimeError("can't start new thread"), loopdbg.OutOfMemoryError, "out of memory: can't start new thread"),
        (OSError(28, "No space left on device", "a.npz"), loopdbg.LoopdbgError, "a.npz: No space left on device"),
        (AttributeError("no attribute"), loopdbg.InternalError, "internal error: AttributeError: no attribute"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_errors_of_libraries(error: Exception, kind: type[loopdbg.LoopdbgError], text: str) -> None:
    with pytest.raises(kind) as caught:
        raises(error)()
    assert str(caught.value).startswith(text) and "\n" not in str(caught.value)
    assert caught.value.__cause__ is error
    with pytest.raises(kind), ApiBoundary():
        raise error


@pytest.mark.parametrize("error", [loopdbg.LimitError("no"), BrokenPipeError(), KeyboardInterrupt()])
def test_passes_as_it_is(error: Any) -> None:
    with pytest.raises(type(error)) as caught:
        raises(error)()
    assert caught.value is error


def test_error_of_a_user_s_function_passes() -> None:
    def hook(_: object) -> None:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        public(call_user_function)(hook, None)
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    with pytest.raises(TypeError, match="mine"):
        model.run({"a": 2.0, "tol": 1e-6}, on_iteration=hook)


@public_class
class PublicApi:
    def __init__(self, size: int = 1) -> None:
        self.size = size + 0

    @property
    def half(self) -> float:
        return 1 / (self.size - 1)

    @classmethod
    def parse(cls, text: str) -> PublicApi:
        return cls(int(text.strip()))

    def items(self, count: int) -> Iterator[int]:
        yield from range(self.size)
        raise TypeError(f"no more than {count + 0}")

    def _private(self) -> None:
        raise ValueError("inside")


def test_class() -> None:
    with raises_error(loopdbg.UsageError, name="size", expected="int", got="str"):
        PublicApi("3")  # type: ignore[arg-type]
    with raises_error(loopdbg.UsageError, name="text", expected="str", got="int"):
        PublicApi.parse(3)  # type: ignore[arg-type]
    with pytest.raises(loopdbg.UsageError, match=r"^parse: missing a required argument: 'text'$"):
        PublicApi.parse()  # type: ignore[call-arg]
    with pytest.raises(loopdbg.UsageError, match="division by zero"):
        _ = PublicApi().half
    with pytest.raises(ValueError, match="inside"):
        PublicApi()._private()


def test_generator() -> None:
    items = PublicApi(2).items(2)
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(loopdbg.InternalError, match="no more than 2"):
        next(items)
    items = PublicApi(0).items("x")  # type: ignore[arg-type]
    with raises_error(loopdbg.UsageError, name="count", expected="int", got="str"):
        next(items)


def test_allocations_are_watched_during_a_call() -> None:
    def names() -> list[str]:
        result = [public(get_handler_name)()]
        with ApiBoundary():
            result.append(get_handler_name())
        return [*result, get_handler_name()]

    # A new thread has NumPy's allocator. An interrupt in an earlier test can have left ours in this one.
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(names).result() == ["loopdbg", "loopdbg", "default_allocator"]


def test_errors_keep_their_fields_between_processes_and_when_reworded() -> None:
    facts: ErrorFields = {"node": "n", "op_type": "Add", "loop": "sqrt", "iteration": 2, "expected": "a", "got": "b"}
    error = loopdbg.ExecutionError("no", Remedy.GIVE_INPUT, name="x", **facts)
    for copy in (pickle.loads(pickle.dumps(error)), loopdbg.UsageError.with_location("here", error)):
        assert copy.fields == error.fields == {"name": "x", **facts}
        assert (copy.node, copy.op_type, copy.loop, copy.iteration) == ("n", "Add", "sqrt", 2)
        assert (copy.name, copy.expected, copy.got) == ("x", "a", "b")
        assert str(copy).endswith("no; give it as inputs={'x': ...}")
    plain = loopdbg.UsageError("no")
    assert plain.fields == {} and plain.node is plain.iteration is None


@pytest.mark.parametrize(
    ("error", "text", "fields"),
    [
        (
            file_error(loopdbg.ModelError, "m.onnx", "cannot be read", PermissionError(13, "Permission denied")),
            "m.onnx: cannot be read: Permission denied",
            {"name": "m.onnx", "got": "Permission denied"},
        ),
        (
            missing_folder_error("a/b.npz", "a"),
            "a/b.npz: there is no folder 'a'",
            {"name": "a", "expected": "a folder"},
        ),
        (
            shape_error("mask", (3,), "does not broadcast to (2, 4)"),
            "mask of shape (3,) does not broadcast to (2, 4)",
            {"name": "mask", "expected": None, "got": "(3,)"},
        ),
        (
            unknown_value_error("mode", "cubic", ("nearest", "linear")),
            "attribute mode='cubic' is not one of nearest, linear",
            {"name": "mode", "expected": "nearest, linear", "got": "'cubic'"},
        ),
    ],
)
def test_families_of_errors_share_their_sentence(error: loopdbg.LoopdbgError, text: str, fields: ErrorFields) -> None:
    assert (str(error), error.fields) == (text, fields)


@pytest.mark.parametrize(
    ("value", "expected", "got"),
    [
        (1, "seq(float32[])", "int"),
        ([np.int64(1)], "float32[]", "int64 []"),
        ([["a"]], "float32[]", "['a']"),
        ([[1.0, 2.0]], "float32[]", "shape [2]"),
    ],
)
def test_an_input_error_says_what_is_expected_and_what_it_got(value: Any, expected: str, got: str) -> None:
    sequence = SequenceType(TensorType(np.dtype(np.float32), ()))
    with pytest.raises(loopdbg.InputError) as caught:
        check_value("x", sequence, value)
    assert (caught.value.name, caught.value.expected, caught.value.got) == (
        "x" if got == "int" else "x[0]",
        expected,
        got,
    )
