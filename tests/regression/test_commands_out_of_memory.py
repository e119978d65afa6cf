"""Commands that need more memory than there is: an error of the command, and the session goes on.

The first copy of a value that did not fit ended the console; what a library needed ended the process."""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from fuzz.memory_limit_campaign import ALIVE_MARKER, MODELS, memory_cgroup, run_in_group, write_model
from loopdbg.debugger.frontends.console.console import Console
from loopdbg.debugger.trace.queries import read_transaction
from loopdbg.runtime.kernels.memory_guard import set_memory_figures_root
from text_models import model

MB = 1 << 20
STEADY = """g (int64 n, float[N] x0) => (float[N] y) {
  y = Loop (n, , x0) <body = b (int64 i, bool c, float[N] x) => (bool c2, float[N] z) {
    c2 = Identity (c)
    z = Add (x, x)
  }>
}"""
#: Two values that grow, of which one is read after it was changed: its back edge has a buffer of its own.
CARRIED = """g (int64 n, float[N] x0) => (float[M] y, float[L] v) {
  y, v = Loop (n, , x0, x0) <body = b (int64 i, bool c, float[A] x, float[C] u) => (bool c2, float[B] z, float[A] x) {
    c2 = Identity (c)
    z = Concat <axis = 0> (x, x)
  }>
}"""
#: What an array takes, and what is left while a command runs, in MB: more than what commands ask for without looking.
SIZE, LEFT = 64, 40


@pytest.fixture
def scarce(tmp_path: Path) -> Iterator[Any]:
    """Make N MB available from now on, as Linux reports it."""

    def available(megabytes: int) -> None:
        (tmp_path / "proc").mkdir(exist_ok=True)
        (tmp_path / "proc" / "meminfo").write_text(f"MemAvailable: {megabytes * 1024} kB\n")
        set_memory_figures_root(str(tmp_path))

    yield available
    set_memory_figures_root("")


@pytest.mark.parametrize(
    "line",
    ["print x", "print x + 1", "print x@0", "print norm(x)", "info values", "set x = x * 2", "why", "step", "goto 0"],
)
def test_a_command_is_refused_and_the_session_goes_on(line: str, scarce: Any) -> None:
    inputs = {"n": 6, "x0": np.ones(SIZE * MB // 4, np.float32)}
    session = loopdbg.debug(model(STEADY), inputs)
    session.step(2)
    messages: list[str] = []
    console = Console(session, messages.append)
    scarce(LEFT)
    try:
        console.execute(line)
    except loopdbg.LoopdbgError as error:
        assert "only 37.5 MB are available" in str(error)
    scarce(4096)
    session.restart()
    session.goto(2)
    console.execute("print x[0]")
    assert messages[-1] == "4.0"
    session.continue_()
    assert session.outputs is not None and session.outputs["y"][-1] == 64


@pytest.mark.parametrize("line", ["print x", "print x + 1", "info values"])
def test_what_copies_is_refused(line: str, scarce: Any) -> None:
    session = loopdbg.debug(model(STEADY), {"n": 6, "x0": np.ones(SIZE * MB // 4, np.float32)})
    scarce(LEFT)
    with pytest.raises(loopdbg.LoopdbgError, match=r"a copy of 'x' needs 64 MB; only 37\.5 MB are available"):
        Console(session, print).execute(line)


def test_a_large_value_let_go_is_computed_again() -> None:
    """A node that was bound to its memory has to be bound again after the session goes to before its value."""
    session = loopdbg.debug(model(MODELS["listed"]), {"n": 4, "x0": np.ones(MB, np.float32), "k": [1.0]})
    session.step(3)
    session.goto(1)
    session.next_node(2)
    session.restart()
    session.finish()
    assert session.frame["x[3][-1]"] == 1
    session.continue_()
    assert session.outputs is not None and session.outputs["y"] == 4


@pytest.fixture(scope="module")
def groups() -> None:
    try:
        with memory_cgroup(300):
            pass
    except OSError as error:
        pytest.skip(f"no memory control group can be made here: {error}")


@pytest.mark.parametrize(
    ("kind", "elements", "lines"),
    [
        ("steady", 20 * MB, ("step 2", "print x", "print x + 1", "print x@0", "why", "info values", "list")),
        ("steady", 20 * MB, ("step", "log iter 3: x is {sum(x)} and {prev(x)}", "break nan", "continue")),
        ("doubled", 1, ("continue", "why", "info values", "back", "print len(x)", "back")),
        ("collected", 10 * MB, ("step 2", "extract part", "plot a.png", "compare 1", "set x = x * 2", "step")),
    ],
)
def test_a_session_in_a_small_group(
    kind: str, elements: int, lines: tuple[str, ...], groups: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path, kind, elements, 40 if kind == "doubled" else 6)
    words = ["run", "model.onnx", "--inputs", "in.npz", "-i"]
    ended = run_in_group(350, words, "".join(f"{line}\n" for line in (*lines, f"echo {ALIVE_MARKER}")))
    assert ended.kills == 0 and ended.status in (0, 1), ended
    assert ALIVE_MARKER in ended.output and "internal error" not in ended.output


@pytest.mark.parametrize("form", ["run.loopdb", "out.npz", "out.safetensors"])
def test_a_command_line_in_a_small_group(
    form: str, groups: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite asked for three times the value, and the process was killed."""
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path, "steady", 20 * MB, 4)
    option = "--record" if form == "run.loopdb" else "--output"
    ended = run_in_group(350, ["run", "model.onnx", "--inputs", "in.npz", option, form])
    assert ended.kills == 0 and ended.status in (0, 1), ended
    assert ended.status == 0 or "available" in ended.output or "memory" in ended.output


def test_a_read_that_lacks_memory_is_no_damage() -> None:
    """SQLite ends the transaction itself; that nothing was left to roll back was stated to be damage of the trace."""
    db = sqlite3.connect(":memory:", isolation_level=None)

    def ask(statement: str, *inputs: Any) -> Any:
        try:
            return db.execute(statement, *inputs)
        except sqlite3.Error as error:
            raise loopdbg.TraceError("the trace is damaged") from error

    with pytest.raises(MemoryError), read_transaction(ask):
        db.execute("ROLLBACK")
        raise MemoryError
    assert not db.in_transaction


def test_going_back_lets_go_of_later_values() -> None:
    """What a later iteration held was held while the ones before ran again, which then lacked memory as well."""
    tracemalloc.start()
    try:
        session = loopdbg.debug(model(CARRIED), {"n": 40, "x0": np.ones(1, np.float32)})
        session.goto(23)
        session.goto(3)
        of_numpy = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        traces = tracemalloc.take_snapshot().filter_traces([of_numpy]).traces
    finally:
        tracemalloc.stop()
    assert session.frame.iteration == 3
    assert sum(trace.size for trace in traces) < 4 * MB
