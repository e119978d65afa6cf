"""Of an option that was given twice the last one was taken without a word; outputs were saved as a zip whatever their
name promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_cli as command
from text_models import SAMPLES

MODEL_INPUTS = (SAMPLES / "newton_sqrt.onnx", "--input", "a=2", "--input", "tol=1e-6")


@pytest.mark.parametrize(("option", "value"), [("--inputs", "x.npz"), ("--max-iterations", "3"), ("--output", "o.npz")])
def test_it_is_refused(capsys: pytest.CaptureFixture[str], option: str, value: str) -> None:
    ran = command(capsys, "run", *MODEL_INPUTS, option, value, option, value)
    assert ran.status == 2 and f"{option} is given twice" in ran.error_line


@pytest.mark.parametrize("name", ["o.csv", "o.jsonl", "o.npy", "o.json"])
def test_another_kind_of_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    ran = command(capsys, "run", *MODEL_INPUTS, "--output", tmp_path / name)
    assert (
        ran.status == 2
        and "outputs are saved in the form that the ending names" in ran.error_line
        and not (tmp_path / name).exists()
    )


def test_an_npz_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command(capsys, "run", *MODEL_INPUTS, "--output", tmp_path / "o.npz").status == 0
    assert np.load(tmp_path / "o.npz")["root"] == pytest.approx(2**0.5)
