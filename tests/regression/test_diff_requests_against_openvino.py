"""Requests to a model with variables are compared with OpenVINO one by one, and in their sequence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.peers.process import Peer
from loopdbg.debugger.reduce.initial_candidate import find_peer_disagreement
from loopdbg.debugger.reduce.repro.repro import make_repro
from loopdbg.debugger.reduce.repro.repro_report import FindingSource

openvino = pytest.importorskip("openvino", reason="OpenVINO is not installed")
from openvino import opset13 as ops  # noqa: E402

REQUESTS = np.random.default_rng(0).standard_normal((4, 2, 4)).astype(np.float32)


def save_model(folder: Path, rows: int) -> Path:
    """``y = tanh(total)``, where the variable ``total``, of ``rows`` rows (-1: any), is the sum of all x so far."""
    x = ops.parameter([2, 4], np.float32)
    x.set_friendly_name("x")
    x.output(0).set_names({"x"})
    nothing = ops.multiply(x, ops.constant(np.zeros((2, 4), np.float32)))
    total = ops.read_value(nothing, "total", np.float32, openvino.PartialShape([rows, 4]))
    new = ops.add(total, x)
    result = ops.tanh(new)
    result.output(0).set_names({"y"})
    path = folder / "m.xml"
    openvino.serialize(openvino.Model([ops.result(result)], [ops.assign(new, "total")], [x], "m"), str(path))
    return path


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """OpenVINO that keeps nothing in variables, as it does with some of dynamic shape."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "peers"), prepend=os.pathsep)
    with Peer("openvino", module="forgetful_peer") as peer:
        yield peer


def test_variables_are_compared_after_each_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_model(tmp_path, 2)
    np.savez(tmp_path / "requests.npz", x=REQUESTS)
    words = ("--against", "openvino", "--requests", tmp_path / "requests.npz", "--json")
    report = json.loads(run_cli(capsys, "diff", path, *words).out)
    for comparison in report["comparisons"]:
        (loop,) = comparison["loops"]
        # In each request an output and a variable.
        assert (comparison["verdict"], loop["iterations"], loop["values"]) == ("same", 4, 8)
        assert not comparison["notes"]


def test_first_request_and_variable_that_differ(tmp_path: Path, forgetful: Peer) -> None:
    model = loopdbg.load(save_model(tmp_path, 2)).over_requests()
    lockstep, free = compare_with_peer(model, {"x": REQUESTS}, forgetful, ComparisonOptions()).comparisons
    # Each request by itself gets the variables that it needs.
    assert lockstep.same
    assert free.first is not None and free.first.first is not None
    first = free.first.first
    assert (first.role, first.name, first.iteration) == ("carried", "total (kept)", 1)
    # The shape is fixed: no rule says that such a variable is lost.
    assert not free.reasons


def test_variables_that_keep_nothing_are_recognized(tmp_path: Path, forgetful: Peer) -> None:
    model = loopdbg.load(save_model(tmp_path, -1)).over_requests()
    result = compare_with_peer(model, {"x": REQUESTS}, forgetful, ComparisonOptions(), lockstep=False)
    (free,) = result.comparisons
    assert [reason.rule for reason in free.reasons] == ["B80"]
    assert free.demonstration is not None and free.demonstration.method == "rule"


def test_repro_keeps_the_sequence_of_requests(tmp_path: Path, forgetful: Peer) -> None:
    model = loopdbg.load(save_model(tmp_path, 2)).over_requests()
    finding = find_peer_disagreement(model, {"x": REQUESTS}, forgetful, Tolerance())
    assert len(finding.candidate.inputs["x"]) == 2
    result = make_repro(finding, FindingSource(["m.xml"], "openvino"), tmp_path / "report")
    assert result.confirmed
    left = loopdbg.load(tmp_path / "report" / "model.xml")
    assert [variable.name for variable in left.graph.variables] == ["total"]
    script = (tmp_path / "report" / "run_openvino.py").read_text(encoding="utf-8")
    assert "for given in zip" in script


def test_precision_that_a_run_was_set_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    precision = openvino.Core().get_property("CPU", "INFERENCE_PRECISION_HINT")
    if precision != openvino.Type.bf16:
        pytest.skip("the processor has no bfloat16")
    x = ops.parameter([16, 32], np.float32)
    x.set_friendly_name("x")
    weights = np.random.default_rng(1).standard_normal((32, 32)).astype(np.float32)
    y = ops.matmul(x, ops.constant(weights), False, False)
    path = tmp_path / "m.xml"
    openvino.serialize(openvino.Model([ops.result(y)], [x], "m"), str(path))
    words = ("diff", path, "--against", "openvino", "--seed", "0", "--json")
    report = json.loads(run_cli(capsys, *words).out)
    assert (report["verdict"], report["peer"]["usual_precision"]) == ("same", "bf16")
    report = json.loads(run_cli(capsys, *words, "--peer-option", "INFERENCE_PRECISION_HINT=bf16").out)
    free = report["comparisons"][1]
    assert (free["verdict"], [reason["rule"] for reason in free["reasons"]]) == ("differ", ["B83"])
    assert (free["demonstration"]["method"], free["outputs"]["node"]) == ("rule", None)
