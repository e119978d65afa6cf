"""Each kind of fix of ``check --fix``, shown with the runtimes: they refuse the original, or compute otherwise, and run
the result with the bits of the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from lxml import etree

import loopdbg
from fix_models import FIX_CASES, FixCase
from ir_builder import IrNetBuilder, joined_parts, running_sum, three_body_inputs
from loopdbg.debugger.peers.process import Peer, PeerError
from loopdbg.debugger.portability.known_differences import ONNXRUNTIME, OPENVINO
from loopdbg.debugger.portability_fixes.fix_model import FixResult, fix_model
from loopdbg.debugger.portability_fixes.kinds import FIX_KINDS
from loopdbg.debugger.reduce.interestingness import peer_job
from loopdbg.debugger.rewriting.editable_model import open_editable
from loopdbg.debugger.rewriting.random_cases import random_inputs
from loopdbg.debugger.rewriting.rewrite import bit_identical

#: The runtime hangs or crashes on the original: tests/conformance/test_diff_against.py has them.
_ENDS_BADLY = {"limit-trip-count", "name-omitted-output"}
#: OpenVINO converts some of the originals: no rule tells which ones.
_UNKNOWN_BEFORE = {"sequence-as-scan-output"}
#: Random inputs of a verification.
_INPUTS = 100


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, Peer]]:
    peers = {name: Peer(name) for name in (ONNXRUNTIME, OPENVINO)}
    yield peers
    for peer in peers.values():
        peer.close()


def run(peer: Peer, path: Path, inputs: Any) -> list[Any] | None:
    """The outputs in a runtime; None: it refuses the model, or fails."""
    try:
        loaded = peer.open(peer_job(path))
    except PeerError:
        return None
    try:
        return loaded.run(inputs)
    except PeerError:
        return None
    finally:
        loaded.close()


def results(model: loopdbg.Model, inputs: Any) -> list[Any] | None:
    """The outputs by the specification; None: it does not run."""
    try:
        outputs = model.run(inputs)
    except loopdbg.LoopdbgError:
        return None
    return [outputs[port.name] for port in model.outputs]


def fix(path: Path, case: FixCase) -> FixResult:
    model = loopdbg.load(path)
    inputs = [case.inputs, *random_inputs(model, _INPUTS)]
    return fix_model(open_editable(path), model, case.targets, inputs, 20.0)


def save(case: FixCase, folder: Path) -> tuple[Path, onnx.ModelProto]:
    """Save a model with metadata and documentation."""
    proto = onnx.ModelProto()
    proto.CopyFrom(case.model)
    proto.metadata_props.add(key="author", value="the lab")
    proto.producer_name, proto.doc_string = "an exporter", "a model"
    proto.graph.doc_string = "a graph"
    for node in proto.graph.node:
        node.doc_string = f"node {node.op_type}"
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return path, proto


@pytest.mark.parametrize("case", FIX_CASES, ids=lambda case: f"{case.kind}: {case.name}")
def test_fixed_model_runs_in_the_runtime(peers: dict[str, Peer], tmp_path: Path, case: FixCase) -> None:
    path, proto = save(case, tmp_path)
    if proto.opset_import[0].version > onnx.defs.onnx_opset_version():
        pytest.skip(f"onnx {onnx.__version__} does not have opset {proto.opset_import[0].version}")
    result = fix(path, case)
    applied = [step for step in result.fixes if step.applied]
    assert case.kind in {step.kind for step in applied}, result.fixes
    assert result.unfixed == ()
    assert result.model is not None
    assert all(step.inputs > _INPUTS // 4 for step in applied)
    target = result.model.write(tmp_path / "fixed" / "model.onnx")[0]
    original = loopdbg.load(path)
    for name in case.targets:
        runs = [case.inputs, {**case.inputs, **case.more}]
        expected = [results(original, inputs) for inputs in runs]
        if case.kind not in _ENDS_BADLY | _UNKNOWN_BEFORE:
            before = [run(peers[name], path, inputs) for inputs in runs]
            assert any(not same(a, b) for a, b in zip(expected, before, strict=True)), f"{name} runs the original alike"
        for inputs, values in zip(runs, expected, strict=True):
            assert same(values, run(peers[name], target, inputs)), (name, inputs)
    check_kept(proto, onnx.load(target))


def same(expected: list[Any] | None, got: list[Any] | None) -> bool:
    if expected is None or got is None:
        return False
    return len(expected) == len(got) and all(map(bit_identical, expected, got))


def check_kept(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Metadata, documentation, and the names of inputs, outputs and nodes are kept."""
    for field in ("metadata_props", "producer_name", "doc_string", "ir_version", "opset_import"):
        assert getattr(after, field) == getattr(before, field)
    assert after.graph.doc_string == before.graph.doc_string
    for ports in ("input", "output"):
        assert [port.name for port in getattr(after.graph, ports)] == [
            port.name for port in getattr(before.graph, ports)
        ]
    results = {name for node in after.graph.node for name in node.output}
    removed = {"Loop", "SequenceEmpty"}
    assert {
        name for node in before.graph.node for name in node.output if name and node.op_type not in removed
    } <= results
    kept = {node.doc_string for node in after.graph.node}
    untouched = [node for node in before.graph.node if node.op_type in ("Add", "Constant", "SplitToSequence")]
    assert all(node.doc_string in kept for node in untouched)


@dataclass(frozen=True)
class IrFixCase:
    """An IR that needs a kind of fix."""

    kind: str
    build: Callable[[], IrNetBuilder]
    inputs: dict[str, Any]


_ROWS, _START = np.float32([[1, 1], [2, 2], [3, 3], [4, 4]]), np.float32([[0, 0]])
_TOTAL = {"x": _ROWS, "start": _START}
IR_FIX_CASES = (
    IrFixCase("ir-positive-axis", lambda: running_sum('axis="-2"'), _TOTAL),
    IrFixCase("ir-positive-axis", lambda: running_sum(joined='axis="-2"'), _TOTAL),
    IrFixCase("ir-own-input-port", lambda: three_body_inputs("xy"), {"x": _ROWS, "y": _START + 10}),
    IrFixCase("ir-part-size", joined_parts(2, 1, 1, False), {"x": _ROWS}),
    IrFixCase("ir-part-size", joined_parts(2, 1, -1, False), {"x": _ROWS}),
    IrFixCase("ir-cut-before", lambda: running_sum('axis="0" start="1"', joined=""), _TOTAL),
)


@pytest.mark.parametrize("case", IR_FIX_CASES, ids=lambda case: case.kind)
def test_fixed_ir_runs_in_openvino(peers: dict[str, Peer], tmp_path: Path, case: IrFixCase) -> None:
    path = case.build().save(tmp_path)
    original = loopdbg.load(path)
    inputs = [case.inputs, *random_inputs(original, _INPUTS)]
    result = fix_model(open_editable(path), original, (OPENVINO,), inputs, 20.0)
    assert [(step.kind, step.applied, step.inputs > _INPUTS // 4) for step in result.fixes] == [(case.kind, True, True)]
    assert result.unfixed == ()
    assert result.model is not None
    target = result.model.write(tmp_path / "fixed" / "model.xml")[0]
    expected = results(original, case.inputs)
    by_position = {str(k): case.inputs[port.name] for k, port in enumerate(original.inputs)}
    assert not same(expected, run(peers[OPENVINO], path, by_position))
    assert same(expected, run(peers[OPENVINO], target, by_position))
    before, after = (etree.parse(str(file)).getroot() for file in (path, target))
    names = [[layer.get("name") for layer in root.iter("layer")] for root in (before, after)]
    assert set(names[0]) <= set(names[1])
    assert [port.name for port in loopdbg.load(target).outputs] == [port.name for port in original.outputs]


def test_every_kind_is_shown() -> None:
    kinds = {case.kind for case in (*FIX_CASES, *IR_FIX_CASES)}
    assert kinds == {kind.name for kind in FIX_KINDS}
    assert len(kinds) >= 20


def test_a_fix_that_changes_results_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdbg.debugger.portability_fixes import body_fixes

    case = next(case for case in FIX_CASES if case.kind == "sort-body")

    def wrong_order(edit: Any) -> None:
        node = next(node for node in edit.graph.node if node.op_type == "Add")
        node.op_type = "Mul"
        original(edit)

    original = body_fixes._sort_nodes
    monkeypatch.setattr(body_fixes, "_sort_nodes", wrong_order)
    path, _ = save(case, tmp_path)
    model = loopdbg.load(path)
    result = fix_model(open_editable(path), model, case.targets, [{**case.inputs, "v": np.float32(3)}], 5.0)
    assert result.model is None
    assert [(step.applied, "differs" in step.text) for step in result.fixes] == [(False, True)]
    assert {left.finding.rule for left in result.unfixed} == {"B36"}


def test_ctrl_c_keeps_what_was_tried(tmp_path: Path) -> None:
    case = next(case for case in FIX_CASES if case.name == "nested loops with the same input names")
    path, _ = save(case, tmp_path)
    model = loopdbg.load(path)

    def interrupt(kind: str) -> None:
        raise KeyboardInterrupt

    result = fix_model(open_editable(path), model, case.targets, [case.inputs], 5.0, interrupt)
    assert (result.model, result.fixes, result.interrupted) == (None, (), True)
    assert "B28" in {left.finding.rule for left in result.unfixed}
