"""The screen, the console and ``explain`` describe a loop identically: lines, numbers, values, and why it ends."""

from __future__ import annotations

import io
import re
import sqlite3
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from app_driver import AppDriver, open_app, sample
from loopdbg.debugger.describe.explain import explain
from loopdbg.debugger.describe.listing import VALUE_SEPARATOR
from loopdbg.debugger.frontends.console.console import Console
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.trace.reader import Trace
from loopdbg.runtime.graph import Loop
from loopdbg.tui.cli import main
from recordings import record_run
from text_models import BRANCHES, COUNT, NESTED, SAMPLES, proto, rename_values

MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))
#: Rows wide enough for every comment and every value.
WIDE_LAYOUT = (400, 100)

NO_LOOP = """g (float x) => (float z) {
  y = Mul (x, x)
  z = Add (y, x)
}"""
ENDLESS_COUNT = f"""g (bool go, float x0) => (float x)
  <int64 most = {{{2**63 - 1}}}> {{
  x = Loop <body = b (int64 i, bool c, float a) => (bool below, float b) {{
    b = Add (a, a)
    ten = Constant <value = float {{10.0}}> ()
    below = Less (b, ten)
  }}> (most, go, x0)
}}"""
ODD = {"i": "iter", "v_in": "/h:0", "v_out": "h new=3 if `a`", "loop": "/a loop/it", "keep": "x in y"}

#: As PyTorch's exporter names values inside modules.
LONG = {
    "v_in": "/model/decoder/layers.0/attn/hidden.1",
    "v_out": "/model/decoder/layers.0/attn/Add_output_0",
    "keep": "/model/decoder/layers.0/Less_output_0",
    "bound": "model.decoder.layers.0.attn.bound",
    "s_out": "/model/decoder/layers.1/Add_output_0",
}

Opened = tuple[loopdbg.Model, dict[str, Any]]


def counting(new: dict[str, str]) -> onnx.ModelProto:
    """COUNT with other names."""
    result = proto(COUNT)
    rename_values(result.graph, new)
    return result


def load_case(which: str, folder: Path) -> Opened:
    """A sample model, or one defined in this file, with inputs."""
    if which in MODELS:
        return sample(which)
    protos, inputs = {
        "no loop": (proto(NO_LOOP), {"x": np.float32(3)}),
        "INT64_MAX trips": (proto(ENDLESS_COUNT), {"go": np.bool_(True), "x0": np.float32(1)}),
        "quoted names": (
            counting(ODD),
            {"M": np.int64(4), "cond": np.bool_(True), "v0": np.int64(5), "bound": np.int64(99)},
        ),
        "long names": (
            counting(LONG),
            {"M": np.int64(4), "cond": np.bool_(True), "v0": np.int64(5), LONG["bound"]: np.int64(99)},
        ),
        "zero trips": (proto(BRANCHES), {"M": np.int64(0), "v0": np.float32(2)}),
        "branches": (proto(BRANCHES), {"M": np.int64(3), "v0": np.float32(2)}),
        "nested": (proto(NESTED), {"M": np.int64(3), "K": np.int64(4)}),
    }[which]
    path = folder / "model.onnx"
    onnx.save(protos, path)
    model = loopdbg.load(path)
    known = {port.name for port in model.inputs}
    return model, {name: value for name, value in inputs.items() if name in known}


CASES = [*MODELS, "no loop", "INT64_MAX trips", "quoted names", "long names", "zero trips", "branches", "nested"]


def listed(session: Any) -> list[str]:
    """The output of ``list all`` as rows of sign, number, text and value."""
    messages: list[str] = []
    Console(session, messages.append).execute("list all")
    return [without_padding(line) for line in messages if not line.startswith(("values of iteration", "no iteration"))]


def on_screen(screen: AppDriver) -> list[str]:
    lines = screen.lines("body")
    # Long sentences are wrapped into lines there, below an empty one.
    end = lines.index("") if "" in lines else len(lines)
    below: list[str] = []
    for line in lines[end + 1 :]:
        if line.startswith("  "):
            below[-1] += f" {line.strip()}"
        else:
            below.append(line)
    return [without_padding(line) for line in (*lines[:end], *below)]


def without_padding(line: str) -> str:
    """A row without column padding; a value is reduced to its presence, because widths differ."""
    text, bar, value = line.partition(VALUE_SEPARATOR)
    if not bar:
        return re.sub(r"\s+", " ", line).rstrip()
    shown = value.strip() if value.strip() in ("·", "–", "true", "false") else "value"
    return re.sub(r"\s+", " ", text).rstrip() + VALUE_SEPARATOR + shown


def explained(model: loopdbg.Model) -> Iterator[tuple[Loop, list[str], str]]:
    for item in explain(model):
        text = [f"{line.number} {text}" for line, text in zip(item.source.lines, item.source.text(), strict=True)]
        yield item.loop, [re.sub(r"\s+", " ", line) for line in text], " ".join(item.ends)


@pytest.mark.parametrize("which", CASES)
async def test_screen_console_and_explain_agree(which: str, tmp_path: Path) -> None:
    model, inputs = load_case(which, tmp_path)
    sources = {loop: (text, ends) for loop, text, ends in explained(model)}
    async with open_app(model, inputs, WIDE_LAYOUT, max_iterations=100) as screen:
        if not sources:
            await screen.press("escape")  # from the graph view, in which a model without loops opens
        for keys in ("", "s", "n", "n", "f"):
            if keys:
                if screen.session.done:
                    break
                await screen.press(*keys)
            frame = screen.session.frame
            console = listed(screen.session)
            assert on_screen(screen) == console, keys
            if frame.loop is None:
                continue
            text, ends = sources[frame.loop]
            # Source code lines appear only in the listing.
            console = [line for line in console if not line.startswith(" # ")]
            code = [re.sub("^[▶●✗]? ", "", line) for line in console[: len(text)]]
            assert [line.partition(VALUE_SEPARATOR)[0] for line in code] == text
            below = console[len(text) :]
            if frame.stopped_by is None:
                assert below[0] == f"ends: {ends}"
                # In a one-line pane the sentence is part of the line.
                word = ends.split("; ")[0].split(". ")[0].split()[0].lower()
                await screen.wait_until(lambda word=word: word in screen.text("condition").lower())  # type: ignore[misc]
            else:
                # The same sentence is shown by the stop, by `frame` and by the condition pane.
                why = below[0].partition(": ")[2].removesuffix(" before the first")
                assert screen.session.done or why in screen.session.stop.text
                await screen.wait_until(lambda message=below[0]: message in screen.text("condition"))  # type: ignore[misc]
            assert below[1:] == [f"note: {note}" for note in frame.loop.notes]


@pytest.mark.parametrize("which", CASES)
def test_command_line_prints_the_same_lines(which: str, tmp_path: Path) -> None:
    model, inputs = load_case(which, tmp_path)
    assert model.path is not None
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["explain", str(model.path)]) == 0
    printed = [re.sub(r"\s+", " ", line).strip() for line in out.getvalue().splitlines()]
    session = Session(model, inputs, max_iterations=100)
    console = [line.partition(VALUE_SEPARATOR)[0] for line in listed(session)]
    for line in (
        session.controller.symbols.pseudo_code.lines_of_loop(session.frame.loop).lines if session.frame.loop else ()
    ):
        text = re.sub(r"\s+", " ", str(line)).strip()
        assert text in printed
        assert any(row.endswith(f"{line.number} {text}") for row in console)


def test_unreachable_trip_count_is_shown_as_none(tmp_path: Path) -> None:
    model, _ = load_case("INT64_MAX trips", tmp_path)
    [(_, text, ends)] = explained(model)
    assert not any(str(2**63 - 1) in line for line in text)
    assert "there is no trip count" in ends
    session = Session(model, {"go": np.bool_(True), "x0": np.float32(1)}, max_iterations=100)
    messages: list[str] = []
    console = Console(session, messages.append)
    for line in (
        "frame",
        "why",
        "print trip_count",
        "step",
        "set trip_count = 3",
        "set trip_count = trip_count + 2**62",
    ):
        console.execute(line)
    assert session.frame.trip_count == 2**62 + 3
    for line in (f"set trip_count = {2**63 - 1}", "frame", "why", "print trip_count", "print iter < trip_count"):
        console.execute(line)
    assert not any(str(2**63 - 1) in line or "left" in line for line in messages if not line.startswith("branch"))
    assert messages[-2:] == ["inf", "true"]
    assert sum("(its trip count is no limit)" in line for line in messages) == 2
    assert "no limit" in session.frame._repr_html_()


def test_info_reports_a_trip_count_that_is_no_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = load_case("INT64_MAX trips", tmp_path)
    assert main(["info", str(model.path)]) == 0
    assert "9223372036854775807 (the constant 'most'): no limit" in capsys.readouterr().out


def test_recording_has_no_trip_count_either(tmp_path: Path) -> None:
    model, inputs = load_case("INT64_MAX trips", tmp_path)
    trace, _, run = record_run(tmp_path / "run.loopdb", model, inputs)
    assert run.loops[0].trip_count is None
    assert [entry.trip_count for entry in trace.entries()] == [total.trip_count for total in trace.totals] == [None]
    trace.close()
    # As old traces with that number were written.
    with sqlite3.connect(tmp_path / "run.loopdb") as written:
        for table in ("entry", "total"):
            written.execute(f"UPDATE {table} SET trip_count = {2**63 - 1}")
    written.close()
    with Trace.open(tmp_path / "run.loopdb") as trace:
        assert (
            [entry.trip_count for entry in trace.entries()]
            == [total_value.trip_count for total_value in trace.totals]
            == [None]
        )


def test_names_that_need_quotes_are_quoted(tmp_path: Path) -> None:
    model, _ = load_case("quoted names", tmp_path)
    [(_, text, _)] = explained(model)
    assert any("`h new=3 if ``a``` = `/h:0`" in line for line in text)


async def test_long_names_are_shortened_everywhere(tmp_path: Path) -> None:
    model, inputs = load_case("long names", tmp_path)
    [(_, text, ends)] = explained(model)
    assert any("attn_Add = hidden_1 + 1" in line for line in text)
    assert "Less = attn_Add < bound" in ends
    async with open_app(model, inputs, WIDE_LAYOUT) as screen:
        await screen.press("s")
        messages: list[str] = []
        console = Console(screen.session, messages.append)
        for line in ("list all", "frame", "info values", "why", "print attn_Add", "break attn_Add if hidden_1 > 6"):
            console.execute(line)
        panes = "\n".join(screen.text(pane) for pane in ("body", "back-edges", "condition", "inputs"))
        for name in LONG.values():
            assert name not in panes and name not in "\n".join(messages)
        assert "hidden_1" in panes and "Condition  Less = attn_Add < bound" in panes
        messages.clear()
        console.execute("continue")
        console.execute("info names")
        assert messages[0].startswith("breakpoint 1 (attn_Add if hidden_1 > 6): before Add")
        assert any(line.split() == ["attn_Add", "…layers.0/attn/Add_output_0"] for line in messages)


@pytest.mark.parametrize("which", ["newton_sqrt.onnx", "loop_while.xml"])
def test_notation_is_the_same_everywhere(which: str) -> None:
    model, _ = sample(which)
    for _, text, ends in explained(model):
        assert not any(re.search(r"\b(Mul|Add|Greater|Multiply|Divide)\(", line) for line in text)
        assert " > " in ends
