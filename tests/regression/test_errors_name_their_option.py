"""Errors named an expression and not the option that it came from, passed over names of --map that nothing has, and
called a file that is not there a file of no known suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("run", NEWTON, "--break", "err <"), 2, "--break 'err <': it ends where a value should come at column 6"),
        (("run", NEWTON, "--break", ""), 2, "--break '': an empty expression"),
        (("run", NEWTON, "--assert", "nosuch > 3"), 2, "--assert 'nosuch > 3': loop 'sqrt' has no value 'nosuch'"),
        (("diff", NEWTON, NEWTON, "--map", "nosuch=x"), 2, "--map nosuch=x: "),
        (("diff", NEWTON, NEWTON, "--map", "x=xx"), 2, "has no 'xx'"),
        (("serve", NEWTON, "--port", "70000"), 2, "argument --port: '70000' is too large; 65535 is the most"),
        (("convert", NEWTON, "class.py", "--longest", "5"), 2, "class.py: 'class' is no name of a Python module"),
        (("run", ""), 1, "no model is named"),
        (("info", "nosuch.loopdb"), 1, "nosuch.loopdb: no such file"),
        (("info", SAMPLES / "lstm.xml", "--weights", SAMPLES), 1, "is a folder; give the path of the weights"),
        (("info", f"{SAMPLES / 'trt' / 'halving.py'}:"), 1, "names no function behind the colon"),
    ],
)
def test_one_line_that_says_where(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[object, ...],
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_cli(capsys, *words)
    assert ran.status == status
    lines = [line for line in ran.err.splitlines() if not line.startswith("inputs: ")]
    assert len(lines) == 1 and message in lines[0] and ran.out == ""


def test_names_of_map_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(capsys, "diff", NEWTON, NEWTON, "--map", "x=x", "--map", "main ▸ sqrt=sqrt").status == 0
