"""Commands from a pipe, or given as options, ran into a loop that nothing ends and stayed there for ever."""

from __future__ import annotations

import io
import sys

import pytest

from cli_runner import run_cli
from loopdbg.debugger.session.session import Session
from loopdbg.runtime.errors import LimitError
from text_models import SAMPLES, model

ENDLESS = SAMPLES / "loop_infinite.xml"
#: A loop that ends, and one after it that nothing ends.
SECOND = """g (int64 n, float x0) => (float last) {
  first = Loop (n, , x0) <body = b (int64 i, bool c, float x) => (bool c2, float y) {
    c2 = Identity (c)
    y = Add (x, x)
  }>
  last = Loop (, , first) <body = d (int64 j, bool e, float u) => (bool e2, float w) {
    e2 = Identity (e)
    w = Add (u, u)
  }>
}"""


@pytest.mark.parametrize(
    "arguments", [["-ex", "continue", "--batch"], ["-ex", "finish"], ["--break", "iter > 1000000000"]]
)
def test_options(arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    ran = run_cli(capsys, "run", ENDLESS, *arguments)
    assert ran.status == 4
    assert "it would never end; give --max-iterations N" in ran.err
    limited = run_cli(capsys, "run", ENDLESS, "--max-iterations", "20", *arguments)
    assert limited.status == 4 and "reached the limit of 20 iterations" in limited.out + limited.err


def test_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("c\nstep 3\nbreak iter 9\nc\nback 4\ngoto 12\nfinish\necho on\n"))
    ran = run_cli(capsys, "run", ENDLESS, "-i")
    lines = ran.out.splitlines()
    assert [line.partition(" of loop")[0] for line in lines if line.startswith(("before", "break"))] == [
        "before iteration 3", "breakpoint 1: iter 9", "breakpoint 1 (iter 9): before iteration 9",
        "before iteration 5", "before iteration 12",
    ]  # fmt: skip
    assert sum("it would never end" in line for line in lines) == 2
    assert lines[-1] == "on"


def test_a_loop_further_on() -> None:
    session = Session(model(SECOND), {"n": 3, "x0": 1.0}, attended=False)
    with pytest.raises(LimitError) as caught:
        session.continue_()
    assert caught.value.loop == session.frame.name
    assert (session.frame.index, session.frame.iteration) == (1, 0)
    session.step(5)
    assert session.frame.iteration == 5


def test_interactive_terminal() -> None:
    session = Session(model(SECOND), {"n": 3, "x0": 1.0})
    session.breakpoints.add("if u == 64 in Loop_1")
    assert session.continue_().reason == "breakpoint"
