"""A runtime that reads uninitialised memory gives other numbers in each process, and some parts of a model then differ
by luck. A repro was cut to such a part, and did not show the finding again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli, save_text_model
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.reduce.documents.document import ReductionCandidate
from loopdbg.debugger.reduce.initial_candidate import Finding, document_from_model
from loopdbg.debugger.reduce.interestingness import InterestingnessTest, Observation
from loopdbg.debugger.reduce.repro.repro import make_repro
from loopdbg.debugger.reduce.repro.repro_report import FindingSource
from source_checks import ROOT

PEER = ROOT / "tests" / "peers" / "varying_peer.py"
MODEL = """g (float[3] x) => (float[3] y) {
  positive = Abs (x)
  bounded = Tanh (positive)
  negative = Neg (bounded)
  y = Exp (negative)
}"""
X = np.array([0.5, -1.0, 2.0], np.float32)


def test_part_that_differs_by_luck_is_not_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, folder = save_text_model(tmp_path, MODEL), tmp_path / "report"
    np.savez(tmp_path / "x.npz", x=X)
    command = shlex.join([sys.executable, str(PEER), str(tmp_path / "runs")])
    against = ("--against", f"cmd:{command} {{model}} {{inputs}} {{outputs}}", "--peer-timeout", 300)
    ran = run_cli(capsys, "repro", path, "--inputs", tmp_path / "x.npz", *against, "-o", folder)
    assert ran.status == 0, ran
    assert [node.op_type for node in onnx.load(folder / "model.onnx").graph.node] == ["Tanh"]


class ShownOnce(InterestingnessTest):
    """A model with a Tanh shows the finding always, any other one the first time."""

    def __init__(self) -> None:
        self.shown: set[tuple[str, ...]] = set()

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        operators = tuple(node.op_type for node in document.nodes())
        if operators in self.shown and "Tanh" not in operators:
            return None
        self.shown.add(operators)
        outputs = document.build_model().run(candidate.inputs)
        name, value = next(iter(outputs.items()))
        return Observation("value", name, value, value, outputs=outputs)


def test_last_part_that_shows_it_is_written(tmp_path: Path) -> None:
    model = loopdbg.load(save_text_model(tmp_path, MODEL))
    candidate = ReductionCandidate((document_from_model(model),), {"x": X})
    test = ShownOnce()
    observation = test(candidate)
    assert observation is not None
    finding = Finding(candidate, observation, test, 1, candidate.node_count, Tolerance())
    repro = make_repro(finding, FindingSource([model.name]), tmp_path / "report")
    assert repro.confirmed and repro.reduced.end_reason == "unconfirmed"
    left = [node.op_type for node in onnx.load(tmp_path / "report" / "model.onnx").graph.node]
    assert "Tanh" in left and len(left) < candidate.node_count
    assert "smaller parts did not show it again" in str(repro)
