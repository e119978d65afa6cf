"""Rules by which the other side departs from a model as a whole: found by running the model with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import cli_runner
import loopdbg
from loopdbg.debugger.compare.running.runtime_deviations import deviations
from loopdbg.runtime.graph import Graph
from text_models import load_proto, proto

STEPS, BATCH, FEATURES, HIDDEN = 5, 3, 4, 2
RANDOM = np.random.default_rng(0)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent_proto(op_type: str, attributes: str = "", lengths: bool = False) -> onnx.ModelProto:
    """A recurrent operator, with weights that are the same in each call."""
    rng, gates = np.random.default_rng(1), GATES[op_type] * HIDDEN
    reads = "x, w, r, b, lens" if lengths else "x, w, r, b"
    declared = ", int32[N] lens" if lengths else ""
    outputs = f"float[T,1,N,{HIDDEN}] y, float[1,N,{HIDDEN}] h"
    source = proto(
        f"g (float[T,N,{FEATURES}] x{declared}) => ({outputs})"
        f" {{ y, h = {op_type} <hidden_size = {HIDDEN}{attributes}> ({reads}) }}"
    )
    weights = {
        "w": rng.standard_normal((1, gates, FEATURES)),
        "r": rng.standard_normal((1, gates, HIDDEN)),
        "b": rng.standard_normal((1, 2 * gates)),
    }
    for name, value in weights.items():
        source.graph.initializer.append(onnx.numpy_helper.from_array(value.astype(np.float32), name))
    return source


def recurrent(op_type: str, attributes: str = "", lengths: bool = False) -> loopdbg.Model:
    return load_proto(recurrent_proto(op_type, attributes, lengths))


def recurrent_inputs(lengths: bool = False) -> dict[str, Any]:
    inputs: dict[str, Any] = {"x": RANDOM.standard_normal((STEPS, BATCH, FEATURES)).astype(np.float32)}
    return inputs | ({"lens": np.array([2, STEPS, 3], np.int32)} if lengths else {})


def diff_with(model: loopdbg.Model, other: loopdbg.Model, lengths: bool = False) -> Any:
    """The comparison of a model with what another one gives, as values alone."""
    inputs = recurrent_inputs(lengths)
    run_inputs = {name: value for name, value in inputs.items() if name in {port.name for port in other.inputs}}
    return loopdbg.diff(model, {**inputs, **other.run(run_inputs)}, inputs)._comparison


@pytest.mark.parametrize("op_type", ["LSTM", "GRU", "RNN"])
def test_ignored_sequence_lengths_are_recognized(op_type: str) -> None:
    result = diff_with(recurrent(op_type, lengths=True), recurrent(op_type), lengths=True)
    assert [reason.rule for reason in result.reasons] == ["B81"]
    assert result.demonstration.method == "rule"


@pytest.mark.parametrize(
    ("op_type", "ours", "theirs"),
    [
        ("GRU", "", ", linear_before_reset = 1"),
        ("GRU", ", linear_before_reset = 1", ""),
        ("LSTM", ", clip = 0.05", ""),
        ("RNN", ', direction = "reverse"', ""),
        ("RNN", ', activations = ["Relu"]', ""),
    ],
)
def test_another_attribute_is_recognized(op_type: str, ours: str, theirs: str) -> None:
    result = diff_with(recurrent(op_type, ours), recurrent(op_type, theirs))
    assert [reason.rule for reason in result.reasons] == ["B82"]
    assert ours.strip(", ").partition(" ")[0].replace("direction", "reverse") in result.reasons[0].text or not ours


def test_rule_that_does_not_give_the_numbers_is_not_reported() -> None:
    model, inputs = recurrent("GRU", lengths=True), recurrent_inputs(lengths=True)
    values = {name: value + np.float32(0.25) for name, value in model.run(inputs).items()}
    result = loopdbg.diff(model, {**inputs, **values}, inputs)._comparison
    assert result.verdict is loopdbg.Verdict.DIFFER
    assert not result.reasons


def test_changed_graph_leaves_the_model_as_it_is() -> None:
    model, inputs = recurrent("LSTM", ", clip = 0.05", lengths=True), recurrent_inputs(lengths=True)
    expected = model.run(inputs)
    graphs: list[Graph] = [deviation.apply() for deviation in deviations(model.graph)]
    changed = [loopdbg.Model(graph).run(inputs) for graph in graphs]
    assert len(changed) == 2
    assert all(not np.array_equal(outputs["y"], expected["y"]) for outputs in changed)
    assert np.array_equal(loopdbg.Model(model.graph).run(inputs)["y"], expected["y"])


def test_info_shows_linear_before_reset_of_a_loop_made_of_a_gru() -> None:
    (loop,) = recurrent("GRU").loops
    assert loop.loop.derived_from.endswith("forward, linear_before_reset=0")


def test_lengths_that_openvino_ignores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    inputs = recurrent_inputs(lengths=True)
    onnx.save(recurrent_proto("LSTM", lengths=True), tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", **inputs)
    ran = cli_runner.run_cli(
        capsys, "diff", tmp_path / "m.onnx", "--against", "openvino", "--inputs", tmp_path / "in.npz", "--json"
    )
    free = json.loads(ran.out)["comparisons"][1]
    assert [reason["rule"] for reason in free["reasons"]] == ["B81"]
    assert (free["demonstration"]["method"], free["demonstration"]["reruns"]) == ("rule", 1)
