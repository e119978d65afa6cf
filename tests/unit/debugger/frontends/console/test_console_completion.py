"""Console completion, and names that contain words of the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from console_recorder import ConsoleRecorder
from loopdbg.debugger.frontends.console.command_registry import COMMANDS
from text_models import COUNT, proto, rename_values

from .console_sessions import start_count


@pytest.fixture
def odd(tmp_path: Path) -> ConsoleRecorder:
    """A model whose names contain anything that could be mistaken for a command word."""
    names = {"v_in": "/h:0", "v_out": "h new=3 if `a`", "v": "y: out"}
    result = proto(COUNT)

    rename_values(result.graph, names)
    inner = [node for loop in result.graph.node for attribute in loop.attribute for node in attribute.g.node]
    for node in (*result.graph.node, *inner):
        node.name = f"/a loop/{node.op_type} in it"
    onnx.save(result, tmp_path / "odd.onnx")
    inputs = {"M": np.int64(6), "cond": np.bool_(True), "v0": np.int64(5), "bound": np.int64(99)}
    return ConsoleRecorder(loopdbg.debug(tmp_path / "odd.onnx", inputs))


def test_odd_names_are_quoted_everywhere(odd: ConsoleRecorder) -> None:
    assert "    6      `h new=3 if ``a``` = `/h:0` + 1" in [line.split(" │ ")[0].rstrip() for line in odd("list")]
    assert odd.last_line("frame 0").startswith("  s:") and "  `/h:0`  5" in odd.output_lines
    assert "`/h:0` = 5" in odd("info values")
    assert odd.last_line("break `h new=3 if ``a``` if `/h:0` > 6") == (
        "breakpoint 1: `h new=3 if ``a``` if `/h:0` > 6, line 6"
    )
    assert odd.last_line("log `h new=3 if ``a``` in `/a loop/Loop in it` if iter == 1: a: {`/h:0`}") == (
        "logpoint 2: `h new=3 if ``a``` in `/a loop/Loop in it` if iter == 1, line 6, prints 'a: {`/h:0`}'"
    )
    assert odd("c")[0] == "a: 6"
    assert odd.session.frame["`/h:0`"] == 7
    assert odd.last_line("break end in '/a loop/Loop in it'") == "breakpoint 3: end in '/a loop/Loop in it'"
    assert odd.last_line("break if `/h:0` > 8 in `/a loop/Loop in it`").startswith("breakpoint 4: if `/h:0` > 8 in")
    assert odd.last_line("watch `/h:0` crosses 9").startswith("watchpoint 5: `/h:0` crosses 9")
    assert "watch `/h:0` stops where it changes" in odd.last_line("break /h:0")
    odd("delete", "goto 1")
    assert odd.last_line("set `/h:0` = 50") == "branch 2: `/h:0` = 50"
    assert odd.last_line("compare") == "  `/h:0`  1: 6   2: 50"
    assert odd.last_line("display `/h:0` + 1") == "1: `/h:0` + 1 = 51"
    assert odd.last_line("c", "print `y: out`") == "55"


def test_odd_names_are_completed(odd: ConsoleRecorder) -> None:
    assert odd.console.completions("print `/h") == (6, ["`/h:0`"])
    assert odd.console.completions("print 1 + `h n") == (10, ["`h new=3 if ``a```"])
    assert odd.console.completions("break `h") == (6, ["`h new=3 if ``a```"])
    assert odd.console.completions("break end in ") == (13, ["`/a loop/Loop in it`"])


@pytest.mark.parametrize(
    ("line", "start", "results"),
    [
        ("st", 0, ["step"]),
        ("reverse", 0, ["reverse-continue", "reverse-next", "reverse-step"]),
        ("  und", 2, ["undisplay", "undo"]),
        ("print v_", 6, ["v_in", "v_out"]),
        ("print max(v_i", 10, ["v_in"]),
        ("print 'v_", 9, []),
        ("print v_in + v_o", 13, ["v_out"]),
        ("break v_", 6, ["v_out"]),
        ("break op A", 9, ["Add"]),
        ("break op a", 9, ["Add"]),
        ("break v_out if v_i", 15, ["v_in"]),
        ("break if v_i", 9, ["v_in"]),
        ("break nan v_i", 10, ["v_in"]),
        ("tbreak i", 7, ["iter", "if"]),
        ("break end in L", 13, ["Loop_0"]),
        ("watch v_i", 6, ["v_in"]),
        ("watch v_in c", 11, ["changes", "crosses"]),
        ("watch v_in + v_o", 13, ["v_out"]),
        ("log v_out: {v_i", 12, ["v_in"]),
        ("log v_o", 4, ["v_out"]),
        ("log v_out: v_i", 14, []),
        ("set v_in = v_o", 11, ["v_out"]),
        ("set hist", 4, ["history"]),
        ("condition ", 10, ["1", "2"]),
        ("condition 1 v_i", 12, ["v_in"]),
        ("delete 1 ", 9, ["1", "2"]),
        ("undisplay ", 10, ["1"]),
        ("branch ", 7, ["1"]),
        ("info b", 5, ["breakpoints", "branches"]),
        ("help und", 5, ["undisplay", "undo"]),
        ("goto ", 5, []),
        ("nothing v_", 10, []),
        ("co x", 4, []),
    ],
)
def test_completion_candidates(line: str, start: int, results: list[str]) -> None:
    talk = start_count()
    talk("break v_out", "break s_out", "display v_in")
    assert talk.console.completions(line) == (start, results)
    assert talk.console.complete(line) == results
    # Text after the cursor does not matter.
    assert talk.console.completions(f"{line} + 3", len(line)) == (start, results)


def test_completion_of_nothing_offers_the_commands() -> None:
    assert start_count().console.complete("") == sorted(COMMANDS)


def test_completed_lines_can_be_run() -> None:
    talk = start_count()
    for name, item in COMMANDS.items():
        assert item.usage.split()[0] == name and item.summary
        talk.console.complete(f"{name} ")
        talk.console.complete(f"{name} `")
