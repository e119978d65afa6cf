"""What a command does not need it does not import: start-up is part of what people wait for."""

from __future__ import annotations

import json

import pytest

from command_line import run_code
from models import SAMPLES

HEAVY = ("onnx", "lxml", "textual", "rich", "matplotlib", "scipy", "onnxruntime", "openvino", "ml_dtypes")
SCREENS = ("textual", "rich", "matplotlib")

LIST = """
import json, os, sys
from loopdbg.tui.cli import main
sys.stdout = open(os.devnull, "w")
status = main(sys.argv[1:])
print(json.dumps([status, sorted({name.split(".")[0] for name in sys.modules})]), file=sys.__stdout__)
"""


def imported(*arguments: str) -> set[str]:
    """The top-level packages that a command line leaves imported."""
    ran = run_code(LIST, *arguments)
    assert ran.status == 0, ran.err
    status, names = json.loads(ran.out)
    assert status == 0, ran.err
    return set(names)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["info", "--help"],
        ["explain", "--help"],
        ["diff", "--help"],
        ["plot", "--help"],
        ["--version"],
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert imported(*arguments).isdisjoint(HEAVY)


def test_a_list_of_lessons_imports_nothing_heavy() -> None:
    assert imported("learn", "--list").isdisjoint(HEAVY)


@pytest.mark.parametrize("command", ["run", "info", "explain"])
def test_an_ir_needs_neither_onnx_nor_a_screen(command: str) -> None:
    assert imported(command, str(SAMPLES / "lstm.xml")).isdisjoint(("onnx", "scipy", "ml_dtypes", *SCREENS))


@pytest.mark.parametrize("command", ["run", "info", "explain"])
def test_an_onnx_model_needs_neither_lxml_nor_a_screen(command: str) -> None:
    assert imported(command, str(SAMPLES / "newton_sqrt.onnx")).isdisjoint(("lxml", "scipy", *SCREENS))


DEBUGGER = """
import os, sys
from loopdbg.tui.cli import main
sys.stdout = open(os.devnull, "w")
main(sys.argv[1:])
print(*[name for name in sys.modules if name.startswith("loopdbg.debugger.")], file=sys.__stdout__)
"""


@pytest.mark.parametrize("command", ["run", "info"])
@pytest.mark.parametrize("model", ["newton_sqrt.onnx", "lstm.xml"])
def test_what_only_runs_needs_no_debugger(command: str, model: str) -> None:
    """But for how values and ends of loops are worded; ``info`` says how a loop ends, and writes names, as all do."""
    ran = run_code(DEBUGGER, command, SAMPLES / model)
    assert ran.status == 0, ran.err
    found = set(ran.out.split())
    if command == "info":
        assert {name.split(".")[2] for name in found} == {"text", "words", "expression", "statistics"}
        assert "loopdbg.debugger.expression.evaluate" not in found
    else:
        words = {"loopdbg.debugger.words", "loopdbg.debugger.words.endings"}
        statistics = {f"loopdbg.debugger.statistics{module}" for module in ("", ".onepass", ".tensor")}
        assert found <= {"loopdbg.debugger.text", *words, *statistics}


def test_this_test_would_notice() -> None:
    assert "onnx" in imported("run", str(SAMPLES / "newton_sqrt.onnx"))
