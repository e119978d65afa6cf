"""Every element type round-trips through files bit for bit, also as NumPy itself writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper

from cli_runner import run_cli
from loopdbg.debugger.export_formats.npz import write as save
from loopdbg.debugger.statistics.tensor_export import save_npy
from loopdbg.debugger.statistics.tensor_statistics import TensorRef
from loopdbg.debugger.trace.reader import Trace
from loopdbg.debugger.trace.replay import Replay
from loopdbg.runtime import dtypes
from loopdbg.runtime.graph import Array, TensorType
from loopdbg.runtime.model import Port
from loopdbg.tui.cli.model_inputs.files import read_npy, read_npz

CODES = {name: code for code, name in dtypes._ONNX_DTYPE_NAMES.items()}
NAMES = sorted({*dtypes._ONNX_DTYPE_NAMES.values(), *dtypes._OPENVINO_DTYPE_NAMES.values()})


def some(name: str) -> Array:
    """Elements of a type; for types of at most one byte, all of them."""
    dtype = dtypes.dtype_from_name(name)
    if dtype.hasobject:
        return np.array([["a", ""], ["ä", "words"]], object)
    if dtype == np.bool_:
        return np.array([[True, False]])
    if "int" in name or name == "float4_e2m1fn":
        bits = min(8, int("".join(c for c in name.partition("_")[0] if c.isdigit())))
        low = 0 if name.startswith("u") else -(2 ** (bits - 1))
        return np.arange(low, low + 2**bits).reshape(2, -1).astype(dtype)
    if dtype.itemsize == 1:
        return np.arange(256, dtype=np.uint8).view(dtype).reshape(16, 16)
    return np.random.default_rng(0).standard_normal((3, 4)).astype(dtype)


def same(item: Any, other: Array) -> bool:
    array = np.asarray(item)
    if other.dtype.hasobject:
        return array.shape == other.shape and array.tolist() == other.tolist()
    return array.dtype == other.dtype and array.shape == other.shape and array.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_saved_values_are_read_back(name: str, tmp_path: Path) -> None:
    value = some(name)
    port = Port("x", TensorType(value.dtype, None))
    scalar = value.reshape(-1)[-1:].reshape(())
    save(tmp_path / "x.npz", {"x": value, "y": scalar})
    result = read_npz(tmp_path / "x.npz", [port, Port("y", port.type)])
    assert same(result["x"], value) and same(result["y"], scalar)
    # NumPy's own copy has all the bytes.
    with np.load(tmp_path / "x.npz") as archive:
        assert archive["x"].shape == value.shape
    save_npy(tmp_path / "x.npy", TensorRef.from_array(value))
    assert same(read_npy(tmp_path / "x.npy", TensorType(value.dtype, None)), value)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_saved_by_numpy_are_read(name: str, tmp_path: Path) -> None:
    value = some(name)
    plain = value.astype(str) if value.dtype.hasobject else value
    port = Port("x", TensorType(value.dtype, None))
    np.save(tmp_path / "x.npy", plain)
    np.savez(tmp_path / "x.npz", x=plain)
    np.savez_compressed(tmp_path / "small.npz", x=plain)
    assert same(read_npy(tmp_path / "x.npy", TensorType(value.dtype, None)), value)
    for file in ("x.npz", "small.npz"):
        assert same(read_npz(tmp_path / file, [port])["x"], value)


@pytest.mark.parametrize("name", sorted(CODES))
def test_outputs_are_inputs_of_the_next_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    value = some(name)
    declared = [helper.make_tensor_value_info(item, CODES[name], list(value.shape)) for item in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", declared[:1], declared[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12), "m.onnx")
    save(Path("in.npz"), {"x": value})
    ran = run_cli(capsys, "run", "m.onnx", "--inputs", "in.npz", "--output", "out.npz")
    assert ran.status == 0, ran.err
    result = read_npz(Path("out.npz"), [Port("y", TensorType(value.dtype, None))])["y"]
    assert same(result, value)
    ran = run_cli(capsys, "run", "m.onnx", "--inputs", "out.npz")
    assert "lacks the input 'x'" in ran.err, "it is called otherwise there"
    save(Path("again.npz"), {"x": result})
    assert run_cli(capsys, "run", "m.onnx", "--inputs", "again.npz").status == 0


LOOP = """
agraph (float8e5m2[2] x0) => (float8e5m2[2] x, float8e5m2[3, 2] xs) {
  n = Constant <value = int64 {3}> ()
  x, xs = Loop (n, , x0) <body = b (int64 i, bool go_in, float8e5m2[2] x_in)
    => (bool go, float8e5m2[2] x_out, float8e5m2[2] x_scan) {
      go = Identity (go_in)
      x_out = Identity (x_in)
      x_scan = Identity (x_in)
  }>
}
"""


@pytest.mark.parametrize("name", sorted(name for name in CODES if dtypes.is_ml_dtype(dtypes.dtype_from_name(name))))
def test_recordings_keep_and_export_every_dtype(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    value = some(name).reshape(-1)[-2:]
    # The text form cannot express all of them.
    result = onnx.parser.parse_model(f'<ir_version: 12, opset_import: ["" : 25]>\n{LOOP}')
    body = result.graph.node[1].attribute[0].g
    for item in (*result.graph.input, *result.graph.output, *body.input[2:], *body.output[1:]):
        item.type.tensor_type.elem_type = CODES[name]
    onnx.save(result, "m.onnx")
    save(Path("in.npz"), {"x0": value})
    ran = run_cli(capsys, "run", "m.onnx", "--inputs", "in.npz", "--record", "t.loopdb")
    assert ran.status == 0, ran.err
    with Trace.open(Path("t.loopdb")) as trace:
        replay = Replay(trace)
        replay.step()
        assert same(replay.frame.carried["x_in"], value)
    assert run_cli(capsys, "export", "t.loopdb", "out.npz").status == 0
    with np.load("out.npz") as archive:
        exported = archive["x_in"]
    width = value.astype(np.int8 if "int" in name else np.float32)
    assert exported.shape == (4, 2) and exported[1].tobytes() == width.tobytes()
