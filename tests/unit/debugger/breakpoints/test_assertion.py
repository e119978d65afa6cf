"""Assertions with a loop, and files of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.breakpoints.assertion import parse_assertion, read_invariants, split_loop_clause
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x > 0", ("x > 0", "")),
        ("x > 0 in sqrt", ("x > 0", "in sqrt")),
        ("x > `a in b` in `main ▸ sqrt`", ("x > `a in b`", "in `main ▸ sqrt`")),
    ],
)
def test_loop_clause(text: str, parts: tuple[str, str]) -> None:
    assert split_loop_clause(text) == parts
    assert parse_assertion(text).text == parts[0]


def test_file_of_invariants(tmp_path: Path) -> None:
    path = tmp_path / "good.txt"
    path.write_text("# newton\n\n  x > 0 in sqrt\nerr >= 0 in `main ▸ sqrt`\n")
    assert read_invariants(path) == ["x > 0 in sqrt", "err >= 0 in `main ▸ sqrt`"]


@pytest.mark.parametrize(
    ("content", "part"), [("# nothing\n", "has no assertion"), ("x >\n", "line 1"), (None, "read")]
)
def test_unusable_file(content: str | None, part: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(loopdbg.UsageError, match=part) as caught:
        read_invariants(path)
    assert caught.value.name == str(path)


def test_run_and_sweep_take_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("x > 0 in sqrt\n")
    bad.write_text("x > 0\nx > 1.41425 in `main ▸ sqrt`\n")
    for command in ("run", "sweep"):
        assert run_cli(capsys, command, NEWTON, "--assert", f"@{good}").status == 0
        failed = run_cli(capsys, command, NEWTON, "--assert", f"@{bad}")
        assert failed.status == 7
        assert "x > 1.41425 in `main ▸ sqrt` is false" in failed.out + failed.err
    assert run_cli(capsys, "run", NEWTON, "--assert", f"@{tmp_path / 'none.txt'}").status == 2
