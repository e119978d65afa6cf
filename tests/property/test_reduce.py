"""Pairs of random models with one change: the reduced models still differ, also as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
import program_mutants
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.reduce import initial_candidate
from loopdbg.debugger.reduce.reducer import reduce
from loopdbg.debugger.reduce.reduction_session import ReductionSession
from strategies.ir_export import write_ir

KINDS = ("operator", "edge", "constant", "trip", "backedge", "scan")
CASES = [f"{system} {kind} {number}" for system in ("onnx", "openvino") for number, kind in enumerate(KINDS)]


@pytest.mark.parametrize("name", CASES)
def test_reduced_models_differ(name: str, tmp_path: Path) -> None:
    mutant = program_mutants.make_case(name)
    if mutant is None:
        pytest.skip("no change of this kind is seen in what the models give")
    models = mutant.models
    if name.startswith("openvino"):
        assert mutant.programs is not None
        paths = [write_ir(program, tmp_path / f"{k}.xml") for k, program in enumerate(mutant.programs)]
        models = loopdbg.load(paths[0]), loopdbg.load(paths[1])
    try:
        finding = initial_candidate.find_model_difference(
            *models, dict(mutant.feeds), Tolerance(), program_mutants.MAX_ITERATIONS
        )
    except initial_candidate.NothingFoundError:
        pytest.skip("what differs is within the tolerance")
    result = reduce(
        ReductionSession(finding.test, finding.candidate, finding.observation, limit=finding.limit, most=120)
    )
    assert result.candidate.node_count <= finding.candidate.node_count
    documents = result.candidate.documents
    left, right = (
        loopdbg.load(document.save(tmp_path, f"part{k}")).run(result.candidate.inputs_for(document))
        for k, document in enumerate(documents)
    )
    assert len(left) == len(right) and left
    pairs = zip(left.values(), right.values(), strict=True)
    assert not all(np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=True) for a, b in pairs)
