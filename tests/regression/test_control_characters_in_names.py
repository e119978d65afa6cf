"""Names come from files: nothing in them moves a terminal's cursor, colours, ends a line or turns text around, in what
the command line, the console, ``--json`` and the screen print."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import loopdbg as package
from app_driver import open_app
from cli_runner import run_cli

from .test_name_escaping import save_tagged_model

TAGS = {
    "escape sequence": "\x1b[31m",
    "C1": "\x9b31m",
    "reversed": "\u202etxt\u2066",
    "carriage return": "a\r\bb",
    "line break": "x\nloopdbg: forged",
    "other breaks": "x\u2028y\x85z\x0bw",
    "tab and delete": "a\tb\x7f",
}
COMMANDS = """
info loops; step; list; info frame; info values; next; into; backtrace; why; break nan; break op Sub; info breakpoints
back; display iter; continue; continue; info history; info outputs; print nosuch; break if nosuch; watch nosuch; help
""".replace("\n", ";").split(";")


def find_raw_controls(text: str) -> list[str]:
    """What a terminal would obey, and lines that begin as ours do."""
    bad = sorted({c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")})
    return [repr(c) for c in bad] + [line for line in text.splitlines() if line.startswith("loopdbg: forged")]


@pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS.keys())
def test_nothing_is_printed_raw(tmp_path: Path, capsys: pytest.CaptureFixture[str], tag: str) -> None:
    path, trace = save_tagged_model(tmp_path, tag), tmp_path / "run.loopdb"
    inputs = ("--input", f"h0{tag}=1")
    asked = [word for line in COMMANDS for word in ("-ex", line.strip())]
    runs: list[tuple[object, ...]] = [
        ("run", path, *inputs, "--record", trace),
        *(("info", file, *json) for file in (path, trace) for json in ((), ("--json",))),
        *(("explain", file, *json) for file in (path, trace) for json in ((), ("--json",), ("--as", "openvino"))),
        ("run", path),
        ("run", path, *inputs, "--json"),
        ("run", path, *inputs, "--break", "iter == 1"),
        ("run", path, *inputs, "--break", "iter == 1", "--json"),
        ("run", path, *inputs, "--assert", "iter < 1"),
        ("run", path, *inputs, "--break", "nosuch > 1"),
        ("run", path, "--input", "nosuch=1"),
        ("run", path, "--input", f"h0{tag}=[1, 2]"),
        ("run", path, *inputs, "--only", "nosuch", "--record", tmp_path / "other.loopdb"),
        *(("run", path, *inputs, "-ex", line, "--batch") for line in ("print nosuch", "break if nosuch")),
        ("run", path, *inputs, *asked, "--batch"),
        ("run", trace, "-ex", "step", "-ex", "info frame", "-ex", "continue", "--batch"),
        ("run", trace, "-ex", "step", "--json", "--batch"),
        ("export", trace, tmp_path / "out.csv", "--only", "nosuch"),
        ("diff", path, save_tagged_model(tmp_path, tag + "2", file="other.onnx"), *inputs),
        ("diff", path, trace, "--json"),
    ]
    for arguments in runs:
        ran = run_cli(capsys, *arguments)
        assert not find_raw_controls(ran.out), (arguments, ran.out)
        assert not find_raw_controls(ran.err), (arguments, ran.err)
        if "--json" in arguments:
            json.loads(ran.out)
    # JSON says what the names are.
    assert json.loads(run_cli(capsys, "run", path, *inputs, "--json").out)["outputs"].keys() == {f"r{tag}", f"s{tag}"}


@pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS.keys())
async def test_the_screen(tmp_path: Path, tag: str) -> None:
    async with open_app(
        package.load(save_tagged_model(tmp_path, tag)), {f"h0{tag}": np.float32(1)}, size=(110, 40)
    ) as screen:
        for keys in ("n", "n", "s", "colon"):
            await screen.press(keys)
            assert not [
                line
                for line in screen.visible_rows()
                for c in line
                if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")
            ]
