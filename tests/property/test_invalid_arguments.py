"""Values of wrong types passed to every public function, and odd arguments to every console command.

The result is an error of ours on one line, or none, and never one of NumPy or Python; the session continues as before.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import inspect
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.frontends.console.command_registry import COMMANDS
from loopdbg.debugger.frontends.console.console import Console, QuitRequest
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions
from text_models import SAMPLES

INPUTS = {"a": 2.0, "tol": 1e-6}
#: Number of calls with random arguments, by seed.
SEEDS, CALLS = range(6), 60
#: These open a page, take seconds, end what the others need, or are methods of every Python sequence.
LEFT_OUT = frozenset({"close", "repro", "widget", "interrupt", "index", "count"})


class UnreadableTensor:
    """A framework's tensor that cannot be read."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no data\non this device")


class UntypedTensor(UnreadableTensor):
    """A tensor that raises even when asked for its dtype."""

    @property
    def detach(self) -> Any:
        raise KeyError("detach")


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no text")


def ragged() -> list[Any]:
    return [[1, 2], [3]]


def self_containing() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


WRONG: list[Callable[[], Any]] = [
    *(
        lambda value=value: value
        for value in (None, True, -1, 0, 3, 10**30, -(10**400), 1.5, float("nan"), 1j, "", "x")
    ),
    *(lambda value=value: value for value in ("nowhere.npy", "x[", "if", "\0", "é\n", "9" * 5000, b"bytes", ..., type)),
    *(
        ragged,
        self_containing,
        dict,
        set,
        lambda: {"x": 1},
        lambda: (k for k in range(3)),
        lambda: [None],
        lambda: ["a", 1],
    ),
    *(lambda: datetime.datetime(2020, 1, 1), lambda: decimal.Decimal("1.5"), lambda: fractions.Fraction(1, 3), object),
    *(
        UnreadableTensor,
        UntypedTensor,
        Unprintable,
        lambda: memoryview(b"abc"),
        lambda: bytearray(3),
        lambda: range(3),
        lambda: print,
    ),
    *(
        lambda: np.datetime64(0, "s"),
        lambda: np.timedelta64(1, "h"),
        lambda: np.zeros(2, "M8[D]"),
        lambda: np.str_("a"),
    ),
    *(lambda: np.bytes_(b"a"), lambda: np.void(b"ab"), lambda: np.longdouble(1), lambda: np.zeros(2, np.clongdouble)),
    *(lambda: np.zeros(2, [("a", "i4"), ("b", "f8")]), lambda: np.array([object()]), lambda: np.array(["a"], object)),
    *(lambda: np.ma.masked_array([1.0, 2.0], [True, False]), lambda: np.ma.masked, lambda: np.zeros((2, 0))),
    *(lambda: np.zeros((1,) * 64), lambda: np.full(3, np.nan, np.float16), lambda: np.rec.array([(1, 2.0)])),
    *(lambda: np.array(10**30, object), lambda: np.arange(4)[::-2], lambda: np.zeros(2, ">f4"), lambda: Path("x")),
]
#: Words of the console's language, combined at random.
WORDS = (
    *(
        "x",
        "err",
        "nosuch",
        "0",
        "-1",
        "1.5",
        "1e400",
        "99999999999999999999",
        "nan",
        "iter",
        "if",
        "end",
        "op",
        "line",
    ),
    *("x[", "x[0", "x@", "x@-1", "x@99", "prev(x)", "prev(", "[[1,2],[3]]", "[1,[2]]", "=", "==", "x =", "cond = 3"),
    *(
        "trip_count = [[1,2],[3]]",
        "x = [[1,2],[3]]",
        "x = 'text'",
        "x = none",
        "x[0] = 1",
        "a = 1e300",
        "@",
        "'",
        '"',
        "\\",
    ),
    *(
        "{",
        "}",
        "{x",
        ":",
        "iter 2: {",
        "\0",
        "\t",
        "é",
        "☃",
        "--",
        "-o",
        "*",
        "../x",
        "nowhere/x.png",
        "all",
        "code",
        "",
    ),
    *(
        "9" * 400,
        "(" * 300,
        "x" * 3000,
        "history 0",
        "history 1T",
        "crosses",
        "settles -1",
        "x settles x",
        "frame",
        "words",
    ),
)


def session() -> loopdbg.Session:
    stopped = loopdbg.debug(SAMPLES / "newton_sqrt.onnx", INPUTS)
    stopped.step(2)
    return stopped


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "run.loopdb"
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    with Recorder(path, model, INPUTS, RecordOptions()) as recorder:
        recorder.finish(model.execute(INPUTS, on_iteration=recorder))
    return path


def functions(of: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods of an object."""
    for name in sorted(dir(type(of))):
        if not name.startswith("_") and name not in LEFT_OUT and callable(getattr(type(of), name)):
            yield name, getattr(of, name)


def wrong_arguments(draw: random.Random, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        value = draw.choice(WRONG)()
        if parameter.kind is parameter.VAR_KEYWORD:
            kwargs[draw.choice(["x", "err", "a b"])] = value
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if draw.random() < 0.3:
                kwargs[parameter.name] = value
        elif parameter.default is parameter.empty or draw.random() < 0.6:
            args.append(value)
        else:
            break
    return args, kwargs


def call(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Call a function; an exception must be an error of ours, on one line, and not an internal error."""
    try:
        inputs = function(*args, **kwargs)
        if isinstance(inputs, Iterator):
            for _, _ in zip(inputs, range(3), strict=False):
                pass
    except loopdbg.LoopdbgError as error:
        assert not isinstance(error, loopdbg.InternalError), error
        assert str(error) and "\n" not in str(error)


def subjects(trace: Path) -> dict[str, Callable[[], Any]]:
    return {
        "Session": session,
        "Replay": lambda: loopdbg.Replay(loopdbg.Trace.open(trace)),
        "Trace": lambda: loopdbg.Trace.open(trace),
        "Breakpoints": lambda: session().breakpoints,
        "Frame": lambda: session().frame,
        "history": lambda: session().frame.history,
        "Model": lambda: loopdbg.load(SAMPLES / "newton_sqrt.onnx"),
        "ReferenceRecorder": loopdbg.record_reference,
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(subjects(Path())))
def test_methods_reject_invalid_arguments_cleanly(
    name: str, seed: int, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(f"{name}/{seed}")
    subject = subjects(trace)[name]()
    for _ in range(CALLS):
        _, function = draw.choice(list(functions(subject)))
        call(function, *wrong_arguments(draw, function))
    if isinstance(subject, loopdbg.Session):
        subject.breakpoints.clear()
        if isinstance(subject, loopdbg.Replay):
            subject.restart()
        else:
            subject.max_iterations = None
            subject.restart(INPUTS)
        subject.continue_()
        assert subject.done and subject.outputs is not None
        assert subject.outputs["root"] == np.float32(2.0) ** 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_functions_reject_invalid_arguments_cleanly(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(seed)
    for _ in range(CALLS):
        function = draw.choice([loopdbg.load, loopdbg.debug, loopdbg.diff, loopdbg.plot, loopdbg.sweep])
        call(function, *wrong_arguments(draw, function))


@pytest.mark.parametrize("seed", SEEDS)
def test_invalid_values_are_rejected_cleanly(seed: int) -> None:
    """Covers the parameters that take values of the user."""
    draw = random.Random(seed)
    model, stopped = loopdbg.load(SAMPLES / "newton_sqrt.onnx"), session()
    for make in draw.sample(WRONG, len(WRONG)):
        call(model.run, [{"a": make(), "tol": 1e-6}], {"max_iterations": 50})
        call(model.run, [{"a": 2.0, "tol": make()}], {"max_iterations": 50})
        call(stopped.set, [draw.choice(["x", "x[()]", "err", "cond", "trip_count", "a", "half"]), make()], {})
        call(loopdbg.diff, [model, model, {"a": make(), "tol": 1e-6}], {})
        call(stopped.restart, [{"a": make()}], {})


@pytest.mark.parametrize("name", sorted({command.name for command in COMMANDS.values()} - LEFT_OUT))
def test_commands_reject_invalid_arguments_cleanly(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(name)
    stopped = session()
    messages: list[str] = []
    console = Console(stopped, messages.append)
    for _ in range(CALLS):
        words = " ".join(draw.choices(WORDS, k=draw.randint(0, 3)))
        try:
            call(console.execute, [f"{name} {words}"], {})
            if console.in_commands_block:
                console.execute("end")
        except QuitRequest:
            pass
    assert not any("internal error" in line for line in messages)
    stopped.breakpoints.clear()
    stopped.max_iterations = None
    stopped.restart(INPUTS)
    stopped.continue_()
    assert stopped.done and stopped.outputs is not None
    assert stopped.outputs["root"] == np.float32(2.0) ** 0.5


def test_recursion_limit() -> None:
    """Lists nested deeper than Python's call stack."""
    deep: Any = 1.0
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    with pytest.raises(loopdbg.LoopdbgError):
        session().set("x", deep)
