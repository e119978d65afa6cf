"""A copy of a model file keeps what is not edited: names, metadata, order, external data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from lxml import etree
from onnx import TensorProto, helper

import loopdbg
from loopdbg.runtime.modelfile.edited_copy import write_edited_copy
from loopdbg.runtime.modelfile.model_file import ModelEdits
from text_models import SAMPLES, proto


def canonical(path: Path) -> str:
    return etree.canonicalize(from_file=str(path))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.onnx")))
def test_unedited_onnx_copy_has_same_bytes(name: str, tmp_path: Path) -> None:
    source = SAMPLES / name
    target = tmp_path / name
    assert write_edited_copy(source, None, loopdbg.load(source).graph, ModelEdits(), target) == [target]
    assert onnx.load(target).SerializeToString() == onnx.load(source).SerializeToString()


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.xml")))
def test_unedited_ir_copy_has_same_elements_and_weights(name: str, tmp_path: Path) -> None:
    source, target = SAMPLES / name, tmp_path / name
    files = write_edited_copy(source, None, loopdbg.load(source).graph, ModelEdits(), target)
    assert files == [target, target.with_suffix(".bin")] and canonical(target) == canonical(source)
    weights = source.with_suffix(".bin")
    assert target.with_suffix(".bin").read_bytes() == (weights.read_bytes() if weights.exists() else b"")


def test_onnx_fields_outside_of_an_edit_are_kept(tmp_path: Path) -> None:
    """Among them are fields that onnx_ir drops."""
    model = proto(
        "g (float[2] x) => (float[2] y) <float[2] w = {2, 3}> { a = Mul (x, w) b = Add (a, s) y = Identity (b) }"
    )
    model.graph.initializer[0].doc_string = "weights"
    values = helper.make_tensor("s", TensorProto.FLOAT, [1], [4.0])
    indices = helper.make_tensor("", TensorProto.INT64, [1], [1])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    model.graph.value_info.append(helper.make_tensor_value_info("of_nothing", TensorProto.FLOAT, [1]))
    model.graph.quantization_annotation.add(tensor_name="x")
    model.training_info.add()
    model.metadata_props.add(key="exporter", value="a")
    source, target = tmp_path / "m.onnx", tmp_path / "n.onnx"
    onnx.save(model, source)
    graph = loopdbg.load(source).graph
    weight = next(value for value in graph.constants if value.name == "w")
    write_edited_copy(source, None, graph, ModelEdits({weight: np.array([5, 6], np.float32)}), target)
    expected = onnx.ModelProto.FromString(model.SerializeToString())
    expected.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([5, 6], np.float32), "w"))
    expected.graph.initializer[0].doc_string = "weights"
    assert onnx.load(target) == expected
    np.testing.assert_array_equal(loopdbg.load(target).run({"x": np.ones(2, np.float32)})["y"], [5, 10])
