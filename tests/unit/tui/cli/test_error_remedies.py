"""The remedy for an error is worded for the front end that reports it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli as command
from cli_runner import save_text_model
from loopdbg.runtime.errors import InputError, Remedy, UsageError
from loopdbg.tui.cli.remedies import error_text
from text_models import COUNT, SUM, model


def test_missing_input_remedy() -> None:
    with pytest.raises(InputError) as caught:
        model(SUM).run({"M": 2})
    assert str(caught.value) == "input 'v0' (float32[]) is missing; give it as inputs={'v0': ...}"
    assert error_text(caught.value) == "input 'v0' (float32[]) is missing; give it as --input v0=VALUE"


def test_wrong_shape_remedy() -> None:
    with pytest.raises(InputError) as caught:
        model("g (float[3] x) => (float[3] y) { y = Abs (x) }").run({"x": np.zeros(2, np.float32)})
    assert str(caught.value) == "input 'x' needs shape [3] float32, got shape [2]; give it as inputs={'x': array}"
    assert error_text(caught.value).endswith("; give it as --input x='[...]' or --input x=file.npy")


def test_endless_loop_remedy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    endless = COUNT.replace("(M, cond, v0)", "(, , v0)").replace("keep = Less (v_out, bound)", "keep = Identity (c)")
    inputs = {"M": 1, "cond": True, "v0": 0, "bound": 9}
    with pytest.raises(loopdbg.LimitError, match="would never end; give max_iterations=N to run it"):
        model(endless).run(inputs)
    feeds = [word for name, value in inputs.items() for word in ("--input", f"{name}={str(value).lower()}")]
    ran = command(capsys, "run", save_text_model(tmp_path, endless), *feeds)
    assert ran.status == 4 and ran.error_line.endswith("would never end; give --max-iterations N to run it")


@pytest.mark.parametrize("remedy", Remedy)
def test_each_front_end_words_its_own_remedies(remedy: Remedy) -> None:
    error = UsageError.with_location("file, line 2", UsageError("it does not fit", remedy, name="x"))
    assert str(error).startswith("file, line 2: it does not fit; ") and "--" not in str(error)
    assert error_text(error) != str(error) and error_text(error).startswith("file, line 2: it does not fit; ")
    assert "{" not in error_text(error).replace("{'x'", "")


def test_error_without_a_remedy() -> None:
    assert (
        str(UsageError("no {braces} are read"))
        == error_text(UsageError("no {braces} are read"))
        == "no {braces} are read"
    )
