"""What a runtime makes of a model was stated to be a broken model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error


@pytest.fixture(scope="module")
def compiled() -> object:
    ov = pytest.importorskip("openvino")
    from openvino import opset13 as op

    x = op.parameter([2], np.float32, name="x")
    return ov.Core().compile_model(ov.Model([op.result(op.relu(x), name="y")], [x], "m"), "CPU")


def test_an_execution_graph(tmp_path: Path, compiled: object) -> None:
    import openvino as ov

    ov.serialize(compiled.get_runtime_model(), tmp_path / "execution.xml")  # type: ignore[attr-defined]
    with pytest.raises(loopdbg.ModelError, match=r"execution graph .* open the model that it was made of"):
        loopdbg.load(tmp_path / "execution.xml")


def test_an_exported_blob(tmp_path: Path, compiled: object) -> None:
    (tmp_path / "blob.xml").write_bytes(compiled.export_model().getvalue())  # type: ignore[attr-defined]
    with raises_error(loopdbg.ModelError, expected="XML", got="binary data"):
        loopdbg.load(tmp_path / "blob.xml")


@pytest.mark.parametrize("name", ["m.engine", "m.plan", "m.trt", "m.blob", "m.ort"])
def test_a_compiled_form_by_its_suffix(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bytes(64))
    with pytest.raises(loopdbg.ModelError, match="a compiled form without its loops"):
        loopdbg.load(tmp_path / name)
