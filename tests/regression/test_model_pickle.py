"""A Model could not be pickled, as multiprocessing, joblib and Dask do with what they send."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from error_fields import raises_error
from text_models import SAMPLES, SUM, model, proto

MODEL_INPUTS = {"a": np.float32(2), "tol": np.float32(1e-6)}


def root(m: loopdbg.Model) -> bytes:
    return bytes(m.run(MODEL_INPUTS)["root"].tobytes())


@pytest.mark.parametrize("when", ["before a run", "after a run", "after a session"])
def test_it_gives_the_same_bits(when: str) -> None:
    m = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    want = root(loopdbg.load(SAMPLES / "newton_sqrt.onnx"))
    if when == "after a run":
        m.run(MODEL_INPUTS)
    elif when == "after a session":
        loopdbg.debug(m, MODEL_INPUTS).step(2)
    assert root(pickle.loads(pickle.dumps(m))) == want


def test_an_ir_and_its_weights() -> None:
    m = loopdbg.load(SAMPLES / "loop_while.xml")
    again = pickle.loads(pickle.dumps(m))
    assert [str(port) for port in again.inputs] == [str(port) for port in m.inputs]


def test_another_process() -> None:
    m = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    is_present = """
import pickle, sys
model, given = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(model.run(given)["root"].tobytes())
"""
    ran = subprocess.run(
        [sys.executable, "-c", is_present],
        input=pickle.dumps((m, MODEL_INPUTS)),
        capture_output=True,
        timeout=100,
        check=True,
    )
    assert ran.stdout == root(m)


def test_a_file_that_is_another_one_by_now(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(proto(SUM), path)
    packed = pickle.dumps(loopdbg.load(path))
    onnx.save(proto(SUM.replace("Mul", "Add")), path)
    with raises_error(loopdbg.ModelError, name=path, got="a changed file"):
        pickle.loads(packed)
    path.unlink()
    with raises_error(loopdbg.ModelError, name=path, got="no file"):
        pickle.loads(packed)


@pytest.mark.parametrize("when", ["before", "after"])
def test_external_weights_that_change(when: str, tmp_path: Path) -> None:
    """The copy ran with the new weights, in silence."""

    def save(weight: float) -> None:
        text = """g (float[3] x) => (float[3] y) { w = Constant <value = float[3] {1, 1, 1}> ()
          n = Constant <value_int = 2> ()
          y = Loop (n, , x) <body = b (int64 i, bool c, float[3] a) => (bool k, float[3] s) {
            k = Identity (c)
            s = Add (a, w)
          }>
        }"""
        result = proto(text)
        held = onnx.numpy_helper.from_array(np.full(3, weight, np.float32), "w")
        del result.graph.node[0]
        result.graph.initializer.append(held)
        for old in (path, tmp_path / "w.bin"):
            old.unlink(missing_ok=True)
        onnx.save(result, path, save_as_external_data=True, location="w.bin", size_threshold=0)

    path = tmp_path / "m.onnx"
    save(1)
    m = loopdbg.load(path)
    x = np.float32([1, 2, 3])
    assert m.run({"x": x})["y"].tolist() == [3, 4, 5]
    packed = pickle.dumps(m) if when == "after" else b""
    save(2)
    with pytest.raises(loopdbg.ModelError, match="a file in the same folder, has changed"):
        pickle.loads(packed or pickle.dumps(m))


def test_a_model_of_no_file() -> None:
    with raises_error(loopdbg.UsageError, name="sum"):
        pickle.dumps(model(SUM))
