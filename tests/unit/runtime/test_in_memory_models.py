"""Models in memory: each kind that load takes gives the bits that its file gives."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
MODEL_INPUTS = {"a": np.float32(2), "tol": np.float32(1e-6)}


def session() -> Any:
    return pytest.importorskip("onnxruntime").InferenceSession(NEWTON)


def session_of_bytes() -> Any:
    return pytest.importorskip("onnxruntime").InferenceSession(NEWTON.read_bytes())


def openvino_model() -> Any:
    return pytest.importorskip("openvino").convert_model(NEWTON)


def ir_model() -> Any:
    ir = pytest.importorskip("onnx_ir", reason="onnx_ir is not installed")
    return ir.from_proto(onnx.load(NEWTON))


@pytest.mark.parametrize(
    "function",
    [
        lambda: str(NEWTON),
        lambda: NEWTON.read_bytes(),
        lambda: memoryview(NEWTON.read_bytes()),
        lambda: io.BytesIO(NEWTON.read_bytes()),
        lambda: onnx.load(NEWTON),
        ir_model,
        session,
        session_of_bytes,
        openvino_model,
    ],
    ids=["path", "bytes", "memoryview", "file", "ModelProto", "onnx_ir", "session", "session of bytes", "openvino"],
)
def test_the_same_bits(function: Callable[[], Any]) -> None:
    expected = loopdbg.load(NEWTON).run(MODEL_INPUTS)
    model = loopdbg.load(function())
    assert {name: value.tobytes() for name, value in model.run(MODEL_INPUTS).items()} == {
        name: value.tobytes() for name, value in expected.items()
    }
    assert model.name and loopdbg.debug(function(), MODEL_INPUTS).step().text


def test_an_open_file_is_its_path() -> None:
    with NEWTON.open("rb") as file:
        assert loopdbg.load(file).path == NEWTON


def test_an_ir_without_constants_apart() -> None:
    text = (SAMPLES / "loop_infinite.xml").read_bytes()
    with pytest.raises(loopdbg.ModelError, match=r"model\.xml.*model\.bin") as raised:
        loopdbg.load(text)
    assert "/tmp" not in str(raised.value)


def test_mock_module_network() -> None:
    from loopdbg.runtime.frontends.tensorrt import script

    path = SAMPLES / "trt" / "halving.py"
    kept: list[Any] = []
    lower = script.lower_network

    def keep(network: Any, name: str) -> Any:
        kept.append(network)
        return lower(network, name)

    script.lower_network = keep  # type: ignore[assignment]
    try:
        expected = loopdbg.load(path)
    finally:
        script.lower_network = lower
    with np.load(path.with_suffix(".inputs.npz")) as file:
        inputs = dict(file)
    result = loopdbg.load(kept[0]).run(inputs)
    for name, value in expected.run(inputs).items():
        assert result[name].tobytes() == value.tobytes()


def test_modules_and_programs() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")

    class DoublingModule(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return 2 * x

    x = torch.arange(3.0)
    module = DoublingModule().eval()
    program = torch.export.export(module, (x,))
    exported = torch.onnx.export(module, (x,), dynamo=True, verbose=False)
    for source, inputs in ((module, (x,)), (module, {"x": x}), (program, None), (exported, None)):
        model = loopdbg.load(source, inputs=inputs)
        (y,) = model.run({"x": x.numpy()}).values()
        assert y.tolist() == [0, 2, 4]
    with pytest.raises(loopdbg.UsageError, match="exported with example inputs"):
        loopdbg.load(module)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (3, r"what is given \(int\) is no model; load takes a path"),
        (b"hello", "these 5 bytes are no ONNX model"),
        (b"<net>", "model.xml, line 1: broken XML"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_model(inputs: Any, message: str) -> None:
    with pytest.raises(loopdbg.LoopdbgError, match=message):
        loopdbg.load(inputs)


def test_a_compiled_model_has_no_loops() -> None:
    openvino = pytest.importorskip("openvino")
    compiled = openvino.Core().compile_model(openvino.convert_model(NEWTON), "CPU")
    with pytest.raises(loopdbg.UnsupportedError, match=r"load the openvino\.Model"):
        loopdbg.load(compiled)


def test_it_cannot_be_pickled(tmp_path: Path) -> None:
    import pickle

    with pytest.raises(loopdbg.UsageError, match="came from no file"):
        pickle.dumps(loopdbg.load(onnx.load(NEWTON)))
