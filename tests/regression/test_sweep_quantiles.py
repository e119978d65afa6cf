"""A sweep stated "half below 0" where no value is below 0, and took quantiles that too many values are outside of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_cli, save_text_model

MODEL = """g (float x0) => (float x) <int64 n = {1}> {
  x = Loop (n, , x0) <body = b (int64 i, bool c, float s) => (bool c2, float s2) {
    c2 = Identity (c)
    s2 = Neg (s)
  }>
}"""


@pytest.mark.parametrize("values", [[0, 0, 0, 0, 0, 0, 1, 1], list(range(31)), [5], [1, 2], list(range(20))], ids=str)
def test_quantiles_bound_as_many_values_as_the_line_says(
    values: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save_text_model(tmp_path, MODEL)
    (tmp_path / "cases").mkdir()
    for k, value in enumerate(values):
        np.savez(tmp_path / f"cases/c{k:02}.npz", x0=np.float32(value))
    words = ("sweep", path, "--inputs", tmp_path / "cases", "--measure", "abs(s)", "-j", 1)
    ran = run_cli(capsys, *words)
    assert ran.status == 0 and "half at most" in ran.out and "below" not in ran.out
    report = json.loads(run_cli(capsys, *words, "--json").out)
    low, five, middle, ninety_five, high = report["models"][0]["loops"][0]["measures"]["abs(s)"]["quantiles"]
    numbers = np.array(values)
    assert (low, high) == (min(values), max(values))
    assert (numbers <= middle).mean() >= 0.5 > (numbers < middle).mean()
    assert ((numbers >= five) & (numbers <= ninety_five)).mean() >= 0.9
