"""Operators that users bring along, and those that no one does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import loopdbg
from cli_runner import run_python_code
from error_fields import raises_error
from ir_builder import IrNetBuilder
from loopdbg.runtime.ops import user_operators

#: Iteration 2 meets the operator.
TEXT = """
<ir_version: 8, opset_import: ["" : 18, "my.domain": 1]>
g (int64 m, float[2] x) => (float[2] y) {
  y = Loop <body: graph = b (int64 i, bool c, float[2] v) => (bool co, float[2] vo) {
    co = Identity (c) two = Constant <value_int = 2> () at = Equal (i, two) t = Add (v, v)
    vo = If (at) <then_branch: graph = th () => (float[2] a) { [odd] a = my.domain.Clamp <low = 0.5> (t) },
                  else_branch: graph = el () => (float[2] e) { e = Identity (t) }>
  }> (m, , x) }"""
INPUTS = {"m": 4, "x": [1.0, -1.0]}


@pytest.fixture(autouse=True)
def none_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_operators, "_FUNCTIONS", {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), file)
    return file


def test_an_unknown_operator_stops_where_it_is_met(path: Path) -> None:
    assert loopdbg.load(path).run(INPUTS | {"m": 2})["y"].tolist() == [4, -4]
    with pytest.raises(
        loopdbg.ExecutionError, match=r"Clamp 'odd' \(my.domain opset 1\) in .*iteration 2: no impl"
    ) as caught:
        loopdbg.load(path).run(INPUTS)
    assert (caught.value.node, caught.value.op_type, caught.value.iteration) == ("odd", "Clamp", 2)


def test_all_before_an_unknown_operator_can_be_stepped(path: Path) -> None:
    session = loopdbg.debug(path, INPUTS)
    stops = [session.step() for _ in range(3)]
    assert [stop.reason.value for stop in stops] == ["step", "step", "error"]
    assert (stops[-1].node, stops[-1].iteration) == ("odd", 2)
    assert session.frame.iteration == 2
    assert session.frame.carried["v"].tolist() == [4, -4]


def test_a_function_is_used(path: Path) -> None:
    inputs: list[Any] = []

    @loopdbg.operator("my.domain", "Clamp")
    def clamp(x: Any, *, low: float) -> Any:
        inputs.append(x)
        return np.maximum(x, np.float32(low))

    assert loopdbg.load(path).run(INPUTS)["y"].tolist() == [16, 1]
    (x,) = inputs
    assert x.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    session = loopdbg.debug(path, INPUTS)
    session.step(4)
    assert session.frame.carried["v"].tolist() == [16, 1]
    session.back()
    assert session.frame.carried["v"].tolist() == [8, 0.5]


def test_what_is_wrong_with_a_function(path: Path) -> None:
    loopdbg.operator("my.domain", "Clamp")(lambda x: x)
    with pytest.raises(loopdbg.ModelError, match=r"Clamp 'odd'.*does not fit.*low"):
        loopdbg.load(path).run(INPUTS)
    loopdbg.operator("my.domain", "Clamp")(lambda x, low: 1 / 0)
    with pytest.raises(loopdbg.ExecutionError, match=r"division by zero \(inputs: float32") as caught:
        loopdbg.load(path).run(INPUTS)
    assert (caught.value.node, caught.value.op_type, caught.value.iteration) == ("odd", "Clamp", 2)
    loopdbg.operator("my.domain", "Clamp")(lambda x, low: ())
    with pytest.raises(loopdbg.ExecutionError) as caught:
        loopdbg.load(path).run(INPUTS)
    assert (caught.value.node, caught.value.expected, caught.value.got) == ("odd", "1 outputs", "0")
    with raises_error(loopdbg.UsageError, expected="a domain and a name"):
        loopdbg.operator("my.domain", "")


def test_what_a_function_gives_is_its_own(path: Path) -> None:
    kept = np.zeros(2, np.float32)

    @loopdbg.operator("my.domain", "Clamp")
    def clamp(x: Any, *, low: float) -> Any:
        kept[:] = x
        return kept

    result = loopdbg.load(path).run(INPUTS | {"m": 3})["y"]
    kept[:] = 7
    assert result.tolist() == [8, -8]


def test_a_layer_of_an_openvino_extension(tmp_path: Path) -> None:
    net = IrNetBuilder()
    x = net.layer("Parameter", data='shape="2" element_type="f32"', shape="2", name="x")
    y = net.layer("Clamp", [x], version="extension", data='low="0.5"', shape="2")
    net.layer("Result", [y], outputs=0)
    path = net.save(tmp_path)
    with pytest.raises(loopdbg.ExecutionError, match=r"Clamp '\w+' \(extension opset 0\): no implementation"):
        loopdbg.load(path).run({"x": [1, -1]})
    loopdbg.operator("extension", "Clamp")(lambda x, low: np.maximum(x, np.float32(low)))
    (y_value,) = loopdbg.load(path).run({"x": [1, -1]}).values()
    assert y_value.tolist() == [1, 0.5]


def test_packages_bring_operators(path: Path, tmp_path: Path) -> None:
    (tmp_path / "bringer.py").write_text(
        "import loopdbg\n"
        "@loopdbg.operator('my.domain', 'Clamp')\n"
        "def clamp(x, low):\n    return x.clip(low).astype('float32')\n"
    )
    info = tmp_path / "bringer-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bringer\nVersion: 1\n")
    points = info / "entry_points.txt"
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import loopdbg; print(loopdbg.load({str(path)!r})"
    points.write_text("[loopdbg.operators]\nmine = bringer\n")
    assert run_python_code(f"{code}.run({INPUTS})['y'].tolist())").out == "[16.0, 1.0]\n"
    points.write_text("[loopdbg.operators]\nmine = nowhere\n")
    assert "'mine' (nowhere) cannot be imported: No module" in run_python_code(f"{code}.run({INPUTS}))").err
