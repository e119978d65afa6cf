"""The README.md of a repro printed the graph with all numbers of all constants: 21 MB next to a model of 9.5 MB."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import onnx.helper
import pytest
from onnx import numpy_helper

from cli_runner import run_cli as command
from loopdbg.debugger.reduce.documents.onnx_text import model_text
from text_models import proto, random_floats

LONG = {
    "float": np.linspace(0, 1, 300, dtype=np.float32).reshape(100, 3),
    "string": np.array(['quoted "ab"\n'] * 100, object),
    "int64": np.arange(65),
}


SHORT = {
    "float": "{0.0, 0.0033444816, 0.006688963, 0.0100334445, ... 300 elements}",
    "string": "{" + r'"quoted \"ab\"\n", ' * 4 + "... 100 elements}",
    "int64": "{0, 1, 2, 3, ... 65 elements}",
}


@pytest.mark.parametrize("name", LONG)
def test_initializers_and_constants_are_shortened(name: str) -> None:
    tensor = numpy_helper.from_array(LONG[name], "long")
    nodes = [onnx.helper.make_node("Constant", [], ["y"], value=tensor)]
    output = onnx.helper.make_tensor_value_info("y", tensor.data_type, list(tensor.dims))
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], [output], [tensor]))
    before = model.SerializeToString(deterministic=True)
    text = model_text(model)
    assert text.count(f" {SHORT[name]}") == 2 and text.count(str(list(tensor.dims)).replace(" ", "")) >= 2, text
    assert model.SerializeToString(deterministic=True) == before


def test_long_attributes_are_shortened() -> None:
    lists = {"value_floats": [0.5] * 65, "value_ints": list(range(65)), "value_strings": ["a"] * 65}
    nodes = [onnx.helper.make_node("Constant", [], [name], **{name: values}) for name, values in lists.items()]
    text = model_text(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], [])))
    assert "value_floats: floats = [0.5, 0.5, 0.5, 0.5, ... 65 elements]" in text
    assert "value_ints: ints = [0, 1, 2, 3, ... 65 elements]" in text
    assert 'value_strings: strings = ["a", "a", "a", "a", ... 65 elements]' in text


def test_what_is_short_is_as_onnx_prints_it() -> None:
    model = proto("g () => (float[3] y) <float[3] w = {1, 2.5, 3}> { y = Identity (w) }")
    assert model_text(model) == onnx.printer.to_text(model)


def test_the_readme_is_for_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = proto("""
    g (int64 n, float[1, 60] h0) => (float[1, 60] y) {
      y = Loop <body = body (int64 i, bool c, float[1, 60] h) => (bool keep, float[1, 60] h_next) {
        keep = Identity (c)
        product = MatMul (h, w)
        h_next = Tanh (product)
      }> (n, , h0)
    }""")
    source.graph.initializer.append(numpy_helper.from_array(random_floats(60, 60), "w"))
    onnx.save(source, tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", n=np.int64(3), h0=random_floats(1, 60))
    stop, inputs, out = "sum(h_next) > -1e9", tmp_path / "in.npz", tmp_path / "out"
    ran = command(
        capsys, "repro", tmp_path / "m.onnx", "--break", stop, "--inputs", inputs, "-o", out, "--max-tests", 2
    )
    assert ran.status == 0, ran
    text = (out / "README.md").read_text()
    assert re.search(r"float\[60,60\] w = \{.{20,60}\.\.\. 3600 elements\}", text), text
    assert len(text) < 5000
