"""Two trees side by side: what counts as slower, and what is stated of a wrong name or tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

import compare_trees

TREE = Path(compare_trees.__file__).parents[1]


def test_a_figure_is_the_geometric_mean_of_pairs() -> None:
    row = compare_trees.TreeComparison("m", [(1.0, 4.0), (2.0, 2.0)])
    assert row.speed_ratio == pytest.approx(2.0) and row.is_acceptable
    assert not compare_trees.TreeComparison("m", [(1.0, 0.96)]).is_acceptable
    assert not compare_trees.TreeComparison("m", [(1.0, 4.0)], same=False).is_acceptable
    assert not compare_trees.TreeComparison("m", failed="no end").is_acceptable


def test_slower_models_and_other_bits_are_reported() -> None:
    rows = [
        compare_trees.TreeComparison("a", [(1.0, 0.9)]),
        compare_trees.TreeComparison("b", [(1.0, 1.0)], same=False),
        compare_trees.TreeComparison("c", failed="no end"),
    ]
    assert compare_trees._summary_lines(rows) == [
        "3 models, 1 not run.",
        "Geometric mean 0.949; below 0.97: a 0.90.",
        "The same bits: 1 of 2.",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere has no src/loopdbg; it is not a checkout of loopdbg"),
        ([str(TREE), "--case", "heatt"], "no loop 'heatt'; there are scalar, "),
    ],
)
def test_what_is_not_there_is_one_line(words: list[str], message: str) -> None:
    ran = subprocess.run(
        [sys.executable, compare_trees.__file__, *words], capture_output=True, encoding="utf-8", timeout=60
    )
    assert ran.returncode == 2 and f"error: {message}" in ran.stderr.splitlines()[-1]


def test_a_model_that_one_tree_cannot_run_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"?")
    row = compare_trees._compare_model("broken", broken, tmp_path / "none.npz", (TREE, TREE), 1)
    assert "broken.onnx" in row.failed and not row.is_acceptable
