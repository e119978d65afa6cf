"""Numbers and texts of the command line that are too large or too deep: one line that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model
from text_models import SUM


@pytest.mark.parametrize("option", ["--max-iterations", "--seed", "--every"])
@pytest.mark.parametrize("number", [2**63, 10**30])
def test_a_number_that_cannot_be_counted_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, number: int
) -> None:
    more = ("--record", tmp_path / "run.loopdb") if option == "--every" else ()
    ran = run_cli(capsys, "run", save_text_model(tmp_path, SUM), "--input", "M=2", option, number, *more)
    assert ran.status == 2
    assert f"'{number}' is too large" in ran.error_line


def test_the_largest_number_of_iterations_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_text_model(tmp_path, SUM)
    ran = run_cli(capsys, "run", path, "--input", "M=2", "--input", "v0=1", "--max-iterations", 2**63 - 1)
    assert ran.status == 0


@pytest.mark.parametrize("depth", [64, 65, 66, 900, 5000, 100_000])
@pytest.mark.parametrize("leaf", ["1", '{"a": 1}', ""])
def test_brackets_in_brackets_are_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], depth: int, leaf: str
) -> None:
    text = "[" * depth + leaf + "]" * depth
    ran = run_cli(capsys, "run", save_text_model(tmp_path, SUM), "--input", "M=2", "--input", f"v0={text}")
    assert ran.status == 1
    assert ran.error_line.startswith("input 'v0'")
    assert len(ran.error_line) < 400
