"""The console on a recording gives the answers of a session on the model, or clear errors where it has none."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import CliResult
from cli_runner import run_cli as command
from console_recorder import ConsoleRecorder
from error_fields import raises_error
from loopdbg.debugger.session.stop import Reason
from loopdbg.debugger.trace.replay import Replay
from loopdbg.runtime.errors import Remedy
from loopdbg.runtime.graph.graph_json import MAX_INLINE_BYTES
from recordings import record_run
from text_models import BRANCHES, COUNT, NESTED, SAMPLES, model, sample

NAMES = sorted(path.name for pattern in ("*.onnx", "*.xml") for path in SAMPLES.glob(pattern))
#: Texts that a recording words differently from a run.
SAME = {
    "the recording is at its end; restart to see it again": "the model ran to its end; restart to run it again",
    "this is the first boundary of the recording; there is nothing before": "this is where the session began; "
    "there is nothing before",
}


class RecordedConsole(ConsoleRecorder):
    """The console's output in the words for a run, without hints on what slows a run down."""

    def __call__(self, *lines: str) -> list[str]:
        lines_value = [
            text.replace(", slow: tested in Python at every boundary", "") for text in super().__call__(*lines)
        ]
        return [
            f"error: {SAME.get(text[7:], text[7:])}" if text.startswith("error: ") else text for text in lines_value
        ]


@contextmanager
def live_and_replay(
    path: Path, loaded: loopdbg.Model, inputs: dict[str, Any], limit: int | None = None, **options: Any
) -> Iterator[tuple[RecordedConsole, RecordedConsole]]:
    """A session on a model, and a replay of its recording."""
    trace, _, _ = record_run(path / "t.loopdb", loaded, inputs, limit, **{"nodes": True, **options})
    with trace:
        yield RecordedConsole(loopdbg.debug(loaded, inputs, max_iterations=limit)), RecordedConsole(Replay(trace))


@contextmanager
def replaying(path: Path, loaded: loopdbg.Model, inputs: dict[str, Any], **options: Any) -> Iterator[RecordedConsole]:
    trace, _, _ = record_run(path / "t.loopdb", loaded, inputs, **options)
    with trace:
        yield RecordedConsole(Replay(trace))


def assert_same(typed: tuple[RecordedConsole, RecordedConsole], lines: Iterable[str]) -> None:
    """Each line gives the same output on both, and is valid on a recording."""
    for number, line in enumerate(lines):
        run, recording = (item(line) for item in typed)
        assert run == recording, f"line {number}: {line}"
        assert not any("recording" in text for text in recording), line


LOOKING = (
    "backtrace",
    "frame",
    "list",
    "why",
    "info loops",
    "info frame",
    "print iter",
    "print trip_count",
    "print cond",
)
TOUR = (
    *LOOKING,
    "step 2",
    *LOOKING,
    "back",
    "goto 1",
    *LOOKING,
    "until 3",
    "until 1",
    "finish",
    *LOOKING,
    "goto -1",
    "restart",
    "break end",
    "tbreak iter 2",
    "info breakpoints",
    "continue",
    "continue",
    "info breakpoints",
    "reverse-continue",
    "reverse-continue",
    "delete",
    "reverse-continue",
    "break nan",
    "watch nothing",
    "back 99",
)


@pytest.mark.parametrize("name", NAMES)
def test_recording_answers_like_a_session(tmp_path: Path, name: str) -> None:
    limit = 60 if name == "loop_infinite.xml" else None
    loaded, inputs = sample(name)
    # If the limit is reached, there is no end to go to.
    lines = [line for line in TOUR if limit is None or line not in ("finish", "continue")]
    with live_and_replay(tmp_path, loaded, inputs, limit) as typed:
        assert_same(typed, lines)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "loop_infinite.xml"])
def test_values_by_name(tmp_path: Path, name: str) -> None:
    loaded, inputs = sample(name)
    with live_and_replay(tmp_path, loaded, inputs) as (run, recording):
        for line in ("restart", "step 2", "finish", "back", "continue"):
            assert run(line) == recording(line)
            a, b = run("info values"), recording("info values")
            # Of the main graph a recording has only what its loops read, without large constants; a run also knows what
            # a branch computed in an earlier iteration.
            main = {value.name for value in loaded.graph.outputs}
            main |= {v.name for node in loaded.graph.nodes for v in node.outputs if v is not None}
            stale = {v.name for n in run.session.frame.nodes if n.branch for v in n.node.outputs if v is not None}
            large = {
                value
                for value, data in run.session.frame.values.items()
                if getattr(data, "nbytes", 0) > MAX_INLINE_BYTES
            }
            missing = {text.split(" = ")[0].strip("`") for text in a if text not in b}
            assert missing <= main | stale | large and set(b) <= set(a)


NEWTON = (
    "print prev(x)",
    "print delta(x)",
    "print x_new",
    "step 3",
    "print x",
    "print prev(x)",
    "print delta(x)",
    "print x@0",
    "print x@1",
    "print x@9",
    "print init(x)",
    "print x_new",
    "print x_new@1",
    "print prev(x_new)",
    "print q@2",
    "print q@3",
    "print xs",
    "print xs@2",
    "print prev(xs)",
    "print max(x, err) > 1",
    "print nope",
    "print x +",
    "print a / x@1",
    "display err",
    "display delta(x)",
    "step",
    "back",
    "info displays",
    "undisplay 1",
    "restart",
    "break if err < 1e-2",
    "continue",
    "continue",
    "reverse-continue",
    "continue",
    "restart",
    "delete",
    "watch x",
    "info breakpoints",
    "continue",
    "continue",
    "continue",
    "reverse-continue",
    "reverse-continue",
    "delete",
    "restart",
    "watch err crosses 1e-3",
    "continue",
    "continue",
    "reverse-continue",
    "delete",
    "restart",
    "watch x settles 1e-3",
    "continue",
    "continue",
    "reverse-continue",
    "continue",
    "delete",
    "restart",
    "watch x_new sign",
    "watch x shape",
    "watch x nan",
    "continue",
    "reverse-continue",
    "delete",
    "restart",
    "log iter 2: x = {x}, by {delta(x)}",
    "log if err < 1e-3: {err} at {iter}",
    "continue",
    "delete",
    "restart",
    "tbreak if x < 1.5",
    "continue",
    "continue",
    "restart",
    "break iter 2 if x > 2",
    "break iter 3 if x > 1",
    "continue",
    "delete",
    "restart",
    "break if err < 1",
    "ignore 13 2",
    "ignore 12 2",
    "info breakpoints",
    "condition 12 iter > 2",
    "continue",
    "continue 2",
    "disable",
    "continue",
    "restart",
    "enable 12",
    "commands 12",
    "print x",
    "step",
    "end",
    "continue",
    "delete",
    "up",
    "print a",
    "down",
    "goto 4",
    "goto 99",
    "why",
    "step",
    "print x",
    "break if isnan(err)",
    "break if err",
    "restart",
    "continue",
    "continue",
)


def test_breakpoints_and_expressions(tmp_path: Path) -> None:
    with live_and_replay(tmp_path, *sample("newton_sqrt.onnx")) as typed:
        assert_same(typed, NEWTON)


def test_recording_without_body_values_uses_the_carried_ones(tmp_path: Path) -> None:
    lines = [line for line in NEWTON if "q@" not in line and line != "why"]
    with live_and_replay(tmp_path, *sample("newton_sqrt.onnx"), nodes=False) as typed:
        assert_same(typed, lines)
        for line in (
            "print q",
            "watch q",
            "break if half > 1",
            "log iter 1: {q}",
            "break iter 1 if q > 1",
            "break nan q",
        ):
            (message,) = typed[1](line)
            assert "the recording holds no value '" in message and "a recording with nodes" in message
        assert typed[1]("info breakpoints") == typed[0]("info breakpoints")
        # The operands of the condition are known as far as they were recorded.
        run, recording = (item("why") for item in typed)
        assert run[0] == recording[0] and any("·" in line for line in recording)


def test_nan_and_its_origin(tmp_path: Path) -> None:
    loaded, inputs = sample("vanishing_scale.onnx")
    lines = (
        "watch s nan",
        "watch h nan",
        "watch q nan",
        "continue",
        "continue",
        "reverse-continue",
        "delete",
        "restart",
    )
    with live_and_replay(tmp_path, loaded, inputs) as (run, recording):
        assert_same((run, recording), lines)
        # A run goes to the node, a recording stays at the boundary after it.
        for line in ("break nan", "continue", "restart", "delete", "break nan h", "continue", "reverse-continue"):
            assert run(line)[:1] == recording(line)[:1]
        for line in ("delete", "break nan", "restart"):
            recording(line)
        assert "Div 'Div_1' gave NaN or Inf in iteration 137" in recording("continue")[0]
    with replaying(tmp_path, loaded, inputs, force=True) as recording:
        recording("break nan")
        (message,) = recording("continue")
        assert message.startswith("breakpoint 1 (nan): before iteration 138 of loop")


def test_nested_loops_and_ifs(tmp_path: Path) -> None:
    inner, outer = "'main ▸ Loop_1 ▸ Loop_1'", "'main ▸ Loop_1'"
    lines = (
        *(
            "break iter 1,2",
            "info breakpoints",
            "continue",
            "backtrace",
            "up",
            "frame",
            "list",
            "print t",
            "info values",
        ),
        *("backtrace", "up", "up", "down", "print t", "down", "continue", "reverse-continue", "delete", "restart"),
        *(f"break end in {inner}", "info breakpoints", "continue", "continue", "backtrace", "finish", "finish"),
        *("restart", "continue", "finish 2", "back", "until 2", "restart", "continue", "until 1", "until 2", "delete"),
        *(
            "restart",
            f"watch t in {outer}",
            "continue",
            "continue",
            "reverse-continue",
            "step",
            "continue",
            "info loops",
        ),
        *("goto 0", "goto 2", "why"),
    )
    with live_and_replay(tmp_path, model(NESTED), {"M": 3, "K": 2}) as typed:
        assert_same(typed, lines)
    with live_and_replay(tmp_path, model(BRANCHES), {"M": 4, "v0": 1.0}, force=True) as typed:
        assert_same(typed, TOUR)


def test_stack_of_an_if_around_a_loop(tmp_path: Path) -> None:
    text = """
    g (int64 M, float v0) => (float v) {
      v = Loop <body = body (int64 i, bool c, float a) => (bool k, float b) {
        k = Identity(c)
        limit = Constant <value_float = 2.0> ()
        small = Less(a, limit)
        b = If <
          then_branch = t () => (float x) {
            three = Constant <value_int = 3> ()
            x = Loop <body = inner (int64 j, bool ci, float p) => (bool kk, float r) {
              kk = Identity(ci)
              r = Add(p, p)
            }> (three, , a)
          },
          else_branch = e () => (float y) { y = Add(a, limit) }
        > (small)
      }> (M, , v0)
    }
    """
    with live_and_replay(tmp_path, model(text), {"M": 3, "v0": 1.0}) as (run, recording):
        lines = ("break if p > 2", "continue", "backtrace", "up", "frame", "list", "backtrace", "print small")
        assert_same((run, recording), lines)
        assert any("If " in line and "(then)" in line for line in recording("backtrace"))


REFUSED = {
    "next": "stepping by nodes is not possible",
    "back-node": "stepping by nodes is not possible",
    "set v_in = 3": "changing a value is not possible",
    "undo": "changing a value is not possible",
    "branch": "a branch is not possible",
    "branch 2": "a branch is not possible",
    "info branches": "a branch is not possible",
    "compare": "a branch is not possible",
    "info history": "a recording needs no checkpoints",
    "set history 5M": "a recording needs no checkpoints",
    "break v_out": "a recording has boundaries only",
    "break line 3": "break takes: iter N, if EXPRESSION, end, nan",
    "break 3": "a recording has boundaries only",
    "break op Add": "a recording has boundaries only",
    "break": "a recording has boundaries only",
    "tbreak nonsense": "a recording has boundaries only",
    "log v_out: {v_in}": "a recording has boundaries only",
}


@pytest.mark.parametrize("line", REFUSED)
def test_commands_invalid_on_a_recording_are_refused(tmp_path: Path, line: str) -> None:
    with replaying(tmp_path, model(COUNT), {"M": 10, "cond": True, "v0": 0, "bound": 99}, nodes=True) as recording:
        before = recording.session.stop
        (message,) = recording(line)
        assert message.startswith("error: ") and REFUSED[line] in message
        assert recording.session.stop is before and not len(recording.session.breakpoints)


def test_partial_recordings_compare_their_boundaries(tmp_path: Path) -> None:
    inputs = {"M": 12, "cond": True, "v0": 0, "bound": 99}
    with replaying(tmp_path, model(COUNT), inputs, every=4) as recording:
        recording("watch v_in crosses 6")
        (message,) = recording("continue")
        assert message == "watchpoint 1 (v_in crosses 6); v_in: 4 → 8: before iteration 8 of loop 'Loop_0'"
        assert recording("reverse-continue")[0].startswith("no breakpoint would have stopped before")
        recording("delete")
        recording("watch v_in settles 5")
        assert recording.stop_after("continue").iteration == 4
        assert recording.stop_after("continue").reason is loopdbg.Reason.DONE
        # A converged value is reported as such also when the session arrives from behind.
        assert recording.stop_after("reverse-continue").iteration == 4
        recording("delete")
        recording("break iter 8")
        assert recording.stop_after("continue").iteration == 8
        assert recording("print v_in@4") == ["4"] and recording("print init(v_in)") == ["0"]
        assert "the boundary before iteration 7 of loop 'Loop_0' is not recorded" in recording("print prev(v_in)")[0]
        assert "only every 4th was recorded" in recording("break if delta(v_in) > 1")[0]
        assert "not all elements of 's' were recorded" in recording("print s")[0]
        assert "goes on" in recording("why")[0]
        with raises_error(loopdbg.UsageError, loop="Loop_0", iteration=6):
            recording.console.execute("goto 6")


def test_values_left_out_with_only(tmp_path: Path) -> None:
    with replaying(tmp_path, *sample("newton_sqrt.onnx"), only=["x"]) as recording:
        recording("step 2")
        assert recording("print x") == ["1.4166667"]
        assert "the recording holds no value 'err'" in recording("print err")[0]
        with raises_error(loopdbg.UsageError, name="err", remedy=Remedy.RECORD_NODES):
            recording.console.execute("break if err < 1")
        assert any(line.strip().startswith("err") and line.endswith("·") for line in recording("frame"))
        assert "sqrt" in recording("why")[0]


def test_missing_large_constants_are_reported(tmp_path: Path) -> None:
    with replaying(tmp_path, *sample("lstm.xml")) as recording:
        assert "leaves out 'W', a large constant" in recording("print W")[0]


def test_loops_that_end_before_their_first_iteration(tmp_path: Path) -> None:
    with live_and_replay(tmp_path, model(COUNT), {"M": 0, "cond": True, "v0": 0, "bound": 9}) as typed:
        assert_same(typed, (*LOOKING, "print s", "print v_in", "break end", "restart", "continue", "continue", "back"))


def test_interrupt_ends_the_search(tmp_path: Path) -> None:
    with replaying(tmp_path, model(COUNT), {"M": 50, "cond": True, "v0": 0, "bound": 99}) as recording:
        replay = recording.session
        # No search is running: a later one is not interrupted either.
        replay.interrupt()
        recording("log if v_in >= 20: {v_in}")
        recording.console.session.on_log = lambda text: replay.interrupt()
        assert recording("continue") == ["interrupted in loop 'Loop_0', iteration 21"]
        assert replay.stop.reason is Reason.INTERRUPT and replay.frame.iteration == 21 and not replay.running
        recording("delete")
        assert recording.stop_after("continue").reason is loopdbg.Reason.DONE


def test_completions(tmp_path: Path) -> None:
    with live_and_replay(tmp_path, *sample("newton_sqrt.onnx")) as (run, recording):
        for line in ("print x", "watch e", "info b", "print ", "set h", "goto ", "break if er", "log if x", "delete "):
            assert run.console.complete(line) == recording.console.complete(line), line
        assert set(recording.console.complete("break ")) == {
            "iter",
            "line",
            "op",
            "if",
            "end",
            "nan",
            "overflow",
            "beyond",
        }
        assert recording.console.complete("branch ") == []


def test_frames_equal_those_of_the_python_api(tmp_path: Path) -> None:
    trace, _, _ = record_run(tmp_path / "t.loopdb", *sample("newton_sqrt.onnx"), nodes=True)
    with trace:
        replay = Replay(trace)
        replay.goto(3)
        assert replay.frame["x - prev(x)"] == pytest.approx(-0.00245106, rel=1e-4)
        assert replay.watch("x settles 1e-3").number == 1
        assert replay.continue_().breakpoints == (1,)
        assert [frame.path for frame in replay.frames] == ["main", "main ▸ sqrt"]


# -- the command line


def recorded(folder: Path, name: str, **options: Any) -> str:
    path = folder / "run.loopdb"
    record_run(path, *sample(name), **options)[0].close()
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--break", "err < 1e-3"),
        ("--break", "err < 1e-3", "--json"),
        ("--break", "err < 0", "--json"),
        ("--assert", "x > 1.41425"),
        ("--assert", "x > 1.41425", "--json"),
        ("--assert", "x > 1"),
        ("-ex", "break iter 3", "-ex", "continue", "-ex", "print x", "-ex", "why", "--batch"),
        ("-ex", "step", "-ex", "print xs", "-ex", "quit 5"),
        ("-ex", "print nonsense"),
        ("--break", "nonsense > 1"),
        ("--batch",),
    ],
)
def test_recording_instead_of_a_model_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    run = command(capsys, "run", SAMPLES / "newton_sqrt.onnx", *arguments)
    recording = command(capsys, "run", recorded(tmp_path, "newton_sqrt.onnx", nodes=True), *arguments)
    assert (run.status, _without_times(run.out)) == (recording.status, _without_times(recording.out))
    assert [line for line in run.err.splitlines() if not line.startswith("inputs:")] == recording.err.splitlines()


def _without_times(out: str) -> Any:
    """The output without times."""
    if out.startswith("{"):
        report = json.loads(out)
        report.pop("seconds", None)
        return report
    return [re.sub(r" in [\d.]+ \w+( \([\d.]+ \w+ each\))?,", ",", line) for line in out.splitlines()]


def test_commands_from_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    import io

    path = recorded(tmp_path, "newton_sqrt.onnx")
    monkeypatch.setattr(sys, "stdin", io.StringIO("step\nprint x\nnext\nfinish\n"))
    done = command(capsys, "run", path, "-i")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == "before iteration 1 of loop 'sqrt'" and lines[1] == "1.5"
    assert lines[2].startswith("error: stepping by nodes is not possible") and "ends after 5 iterations" in lines[3]


def test_outputs_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "newton_sqrt.onnx")
    saved = tmp_path / "y.npz"
    done = command(capsys, "run", path, "-ex", "continue", "--batch", "--output", saved)
    assert done.status == 0 and "5 iterations of 'sqrt'" in done.out
    with np.load(saved) as file:
        assert file["root"] == pytest.approx(2**0.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "is a recording, which cannot be run: -ex COMMAND, --break and --assert ask it"),
        (("--json",), "is a recording, which cannot be run"),
        (("--input", "a=3", "--batch"), "--input: "),
        (("--inputs", "x.npz", "--batch"), "--inputs: "),
        (("--seed", "0", "--batch"), "--seed: "),
        (("--max-iterations", "3", "--batch"), "--max-iterations: "),
        (("--record", "y.loopdb", "--batch"), "--record: "),
        (("--every", "3", "--batch"), "--every: "),
        (("--resume", "y.loopdb", "--batch"), "--resume: "),
    ],
)
def test_run_options_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    done: CliResult = command(capsys, "run", recorded(tmp_path, "newton_sqrt.onnx"), *arguments)
    assert done.status == 2 and words in done.error_line


@pytest.mark.parametrize("what", ["explain", "info"])
@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "loop_nested.xml", "two_layer_lstm.onnx"])
def test_explain_and_info_of_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, name: str
) -> None:
    path = recorded(tmp_path, name)
    for options in ((), ("--json",)):
        run, recording = command(capsys, what, SAMPLES / name, *options), command(capsys, what, path, *options)
        assert run == recording


def test_database_that_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.close()
    for what in ("run", "info", "explain"):
        done = command(capsys, what, path, *(["--batch"] if what == "run" else []))
        assert done.status == 1 and "is an SQLite file, but no trace" in done.error_line
