"""A Model could not be pickled, as multiprocessing, joblib and Dask do with what they send."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from models import SAMPLES, SUM, model, proto

GIVEN = {"a": np.float32(2), "tol": np.float32(1e-6)}


def root(m: loopdbg.Model) -> bytes:
    return bytes(m.run(GIVEN)["root"].tobytes())


@pytest.mark.parametrize("when", ["before a run", "after a run", "after a session"])
def test_it_gives_the_same_bits(when: str) -> None:
    m = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    want = root(loopdbg.load(SAMPLES / "newton_sqrt.onnx"))
    if when == "after a run":
        m.run(GIVEN)
    elif when == "after a session":
        loopdbg.debug(m, GIVEN).step(2)
    assert root(pickle.loads(pickle.dumps(m))) == want


def test_an_ir_and_its_weights() -> None:
    m = loopdbg.load(SAMPLES / "loop_while.xml")
    again = pickle.loads(pickle.dumps(m))
    assert [str(port) for port in again.inputs] == [str(port) for port in m.inputs]


def test_another_process() -> None:
    m = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(root, (m,)) == root(m)


def test_a_file_that_is_another_one_by_now(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(proto(SUM), path)
    packed = pickle.dumps(loopdbg.load(path))
    onnx.save(proto(SUM.replace("Mul", "Add")), path)
    with pytest.raises(loopdbg.ModelError, match="is another file than when the model was pickled"):
        pickle.loads(packed)
    path.unlink()
    with pytest.raises(loopdbg.ModelError, match="no such file"):
        pickle.loads(packed)


def test_a_model_of_no_file() -> None:
    with pytest.raises(loopdbg.UsageError, match="came from no file"):
        pickle.dumps(model(SUM))
