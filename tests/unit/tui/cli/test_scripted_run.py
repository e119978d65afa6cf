"""``loopdbg run`` with commands, breakpoints and assertions."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Protocol

import pytest

from cli_runner import CliResult, run_cli
from text_models import SAMPLES

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
VANISHING = str(SAMPLES / "vanishing_scale.onnx")


class ScriptedRun(Protocol):
    """Runs ``loopdbg run`` with arguments."""

    def __call__(self, *arguments: str) -> CliResult: ...


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> ScriptedRun:
    return lambda *arguments: run_cli(capsys, "run", *arguments)


def test_break_stops_and_shows_the_frame(run: ScriptedRun) -> None:
    done = run(NEWTON, "--break", "err < 1e-3")
    assert done.status == 3
    assert "breakpoint 1 (if err < 1e-3): before iteration 4" in done.out
    assert "main ▸ sqrt, before iteration 4" in done.out and "1.4142157 → 1.4142135" in done.out


def test_break_as_json(run: ScriptedRun) -> None:
    done = run(NEWTON, "--break", "err < 1e-3", "--json")
    assert done.status == 3
    stopped = json.loads(done.out)["stopped"]
    assert (stopped["reason"], stopped["loop"], stopped["iteration"], stopped["breakpoint"]) == (
        "breakpoint",
        "main ▸ sqrt",
        4,
        1,
    )
    assert stopped["carried"]["x"] == pytest.approx(2**0.5)
    assert stopped["carried"].keys() == {"x", "err"}


def test_breakpoint_without_a_hit_prints_the_outputs(run: ScriptedRun) -> None:
    done = run(NEWTON, "--break", "err < -1", "--json")
    assert done.status == 0
    report = json.loads(done.out)
    assert "stopped" not in report and report["outputs"]["root"]["shape"] == []
    plain = json.loads(run(NEWTON, "--json").out)
    assert report["outputs"] == plain["outputs"] and report["loops"] == plain["loops"]


def test_assertions_are_checked(run: ScriptedRun) -> None:
    assert run(NEWTON, "--assert", "x > 1").status == 0
    done = run(NEWTON, "--assert", "x > 1", "--assert", "x > 1.41425")
    assert done.status == 7
    assert "assertion failed: x > 1.41425 is false at main ▸ sqrt, iteration 3" in done.err


def test_invalid_expression_is_refused(run: ScriptedRun) -> None:
    for option in ("--break", "--assert"):
        done = run(NEWTON, option, "errr < 1")
        assert done.status == 2 and "errr" in done.err and "err" in done.err
        assert done.err.count("\n") <= 2


@pytest.mark.parametrize("option", ["--break", "--assert"])
def test_non_boolean_condition_is_refused_before_the_run(run: ScriptedRun, option: str) -> None:
    done = run(NEWTON, option, "err")
    assert done.status == 2 and done.out == ""
    assert done.err.splitlines()[-1] == (
        f"loopdbg: {option} 'err': float32 [] where true or false is needed at column 1 of 'err'; "
        "compare it, as in ... > 0"
    )


def test_loop_output_has_the_dtype_of_its_back_edge(run: ScriptedRun) -> None:
    """The main graph declares no type for last_err."""
    done = run(NEWTON, "--break", "last_err")
    assert done.status == 2 and "'last_err': float32 where true or false is needed" in done.err
    assert run(NEWTON, "--break", "last_err < 1").status == 3


def test_if_keyword_before_condition(run: ScriptedRun) -> None:
    for text in ("if err < 1e-3", "if(err < 1e-3)", "  if  err < 1e-3 "):
        done = run(NEWTON, "--break", text)
        assert done.status == 3 and "): before iteration 4 of loop 'sqrt'" in done.out
    done = run(NEWTON, "--break", "if er < 1e-3")
    assert done.status == 2
    assert "--break 'er < 1e-3': loop 'sqrt' has no value 'er' (in 'er < 1e-3'); did you mean err or err0?" in done.err
    assert run(NEWTON, "--assert", "if x > 1").status == 0
    assert run(NEWTON, "--break", " nan ").status == 0


def test_condition_selects_its_loop(run: ScriptedRun) -> None:
    done = run(NEWTON, "--break", "err < 1e-3 in sqrt")
    assert done.status == 3 and "before iteration 4 of loop 'sqrt'" in done.out and "unexpected" not in done.err
    # A deleted breakpoint was hit all the same.
    assert run(NEWTON, "--break", "err < 1e-3", "-ex", "continue", "-ex", "delete").status == 3


def test_commands_run_in_their_order(run: ScriptedRun, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("# where it goes wrong\nbreak nan\ncommands\n  print s\nend\ncontinue\n")
    done = run(VANISHING, "-ex", "echo first", "-x", str(script), "-ex", "echo last", "--batch")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == "first" and lines[-1] == "last"
    assert "0.0" in lines and any("gave NaN or Inf in iteration 137" in line for line in lines)


def test_error_in_a_script_has_its_position(run: ScriptedRun, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("step\nprint nothing_like_it\nstep\n")
    done = run(NEWTON, "-x", str(script), "--batch")
    assert done.status == 2
    assert f"{script}, line 2: " in done.err
    assert run(NEWTON, "-x", str(tmp_path / "none"), "--batch").status == 2
    script.write_text("break iter 3\ncommands\nprint x\n")
    assert "'end' is missing" in run(NEWTON, "-x", str(script), "--batch").err


def test_quit_sets_the_exit_status(run: ScriptedRun) -> None:
    assert run(NEWTON, "-ex", "quit 5", "--batch").status == 5


def test_iteration_limit_and_error_in_a_script(run: ScriptedRun) -> None:
    done = run(str(SAMPLES / "loop_infinite.xml"), "--max-iterations", "20", "-ex", "continue", "--batch")
    assert done.status == 4


def test_commands_from_a_pipe(run: ScriptedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("step 2\nprint x\n"))
    done = run(NEWTON, "-i")
    assert done.status == 0
    assert done.out.splitlines()[-1] == "1.4166667"


def test_condition_true_before_iteration_0_hits_there(run: ScriptedRun) -> None:
    done = run(NEWTON, "--break", "err > 1.5")
    assert done.status == 3 and "before iteration 0 of loop 'sqrt'" in done.out
    done = run(NEWTON, "--assert", "err < 1.5")
    assert done.status == 7 and "err < 1.5 is false at main ▸ sqrt, iteration 0" in done.err
    done = run(NEWTON, "--break", "err > 1.5", "-ex", "print x * 50", "-ex", "continue")
    assert done.out.splitlines()[1] == "100.0"


def test_false_assertion_ends_the_commands(run: ScriptedRun) -> None:
    commands = ["-ex", "break iter 2", "-ex", "continue", "-ex", "echo here", "-ex", "continue", "-ex", "echo there"]
    done = run(NEWTON, "--assert", "err > 0.01", *commands, "--batch")
    assert done.status == 7
    assert "here" in done.out and "there" not in done.out
    assert "err > 0.01 is false at main ▸ sqrt, iteration 3" in done.err
    # The exit status stays, whatever the commands do afterwards.
    done = run(NEWTON, "--assert", "err > 0.01", "-ex", "delete", "-ex", "continue")
    assert done.status == 0


def test_failed_assertion_can_be_inspected_at_the_prompt(run: ScriptedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("print x\ncontinue\nquit\n"))
    done = run(NEWTON, "--assert", "err > 0.01", "-i")
    assert done.status == 7
    assert "1.4142157" in done.out.splitlines()
    assert "err > 0.01 is false at main ▸ sqrt, iteration 3" in done.err


@pytest.mark.parametrize(
    "arguments", [["-ex", "continue", "-ex", "echo never", "--batch"], ["--break", "1 > 2"], ["-i"]]
)
def test_ctrl_c_ends_scripted_commands(run: ScriptedRun, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("continue\necho never\n"))
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    # A loop that runs for years; only Ctrl-C ends it.
    done = run(str(SAMPLES / "loop_infinite.xml"), "--max-iterations", str(10**15), *arguments)
    timer.join()
    assert done.status == 130
    assert "interrupted in loop" in done.out and "never" not in done.out


def test_assertion_errors_name_the_assertion(run: ScriptedRun) -> None:
    assert "column 5 of 'err<<1'" in run(NEWTON, "--assert", "err<<1").err
    assert "no value 'er' (in 'er<1')" in run(NEWTON, "--assert", "er<1").err


@pytest.mark.parametrize("option", ["--break", "--assert"])
def test_failing_expression_is_reported(run: ScriptedRun, option: str) -> None:
    done = run(NEWTON, option, "x[5] > 1")
    assert done.status == 2
    assert f"{option} 'x[5] > 1' cannot be tested: " in done.err and "Traceback" not in done.err
    assert "column 2 of 'x[5] > 1'" in done.err
    assert "error" not in done.out, "it is reported once"


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["-ex", "step 2"], 0, {"reason": "step", "iteration": 2, "breakpoint": None}),
        (["--batch"], 0, {"reason": "entry", "iteration": 0}),
        (["-ex", "next"], 0, {"reason": "node", "iteration": 0}),
        (["-ex", "finish"], 0, {"reason": "loop end", "iteration": 5}),
        (["-ex", "break iter 3", "-ex", "continue"], 0, {"reason": "breakpoint", "iteration": 3, "breakpoint": 1}),
        (["-ex", "watch x settles 1e-2", "-ex", "c"], 0, {"reason": "watchpoint", "iteration": 3, "breakpoint": 1}),
        (["-ex", "step", "-ex", "reverse-continue"], 0, {"reason": "start", "iteration": 0}),
        (["-ex", "step", "-ex", "quit 9", "-ex", "step"], 9, {"reason": "step", "iteration": 1}),
        (["--break", "err < 1e-2"], 3, {"reason": "breakpoint", "iteration": 3, "breakpoint": 1}),
        (["--assert", "err > 1e-2"], 7, {"reason": "breakpoint", "iteration": 3, "assertion": "err > 1e-2"}),
        (["--assert", "x[5] > 1"], 2, {"reason": "error", "breakpoint": 1}),
        (["--max-iterations", "2", "-ex", "c"], 4, {"reason": "limit", "iteration": 2}),
    ],
)
def test_json_of_every_kind_of_stop(
    run: ScriptedRun, arguments: list[str], status: int, expected: dict[str, object]
) -> None:
    done = run(NEWTON, *arguments, "--json")
    assert done.status == status
    (message,) = [json.loads(line) for line in done.out.splitlines()]
    stopped = message["stopped"]
    assert {"reason", "text", "loop", "iteration", "breakpoint", "carried"} <= set(stopped)
    assert {key: stopped[key] for key in expected} == expected
    assert stopped["loop"] == "main ▸ sqrt" and set(stopped["carried"]) == {"x", "err"}
