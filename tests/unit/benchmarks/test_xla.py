"""The small-tensor loops that ``benchmarks/xla_vector_twins.py`` reimplements in JAX give the results of the models."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="the loops are compiled by XLA")

from loopdbg.runtime.frontends.onnx import reader
from loopdbg.runtime.model import Model

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

import vector_models
import xla_twins


@pytest.mark.parametrize("name", ["newton", "rk4", "quaternion", "rotation", "hashing", "beams"])
def test_a_twin_gives_what_its_model_gives(name: str) -> None:
    case = getattr(vector_models, name)(30)
    run, outputs, _ = xla_twins.prepare(case, case.inputs(), None)
    expected = Model(reader.from_proto(case.build(), name)).run(case.inputs())
    result = outputs(run())
    assert result.keys() == expected.keys()
    for key, value in expected.items():
        assert result[key].dtype == value.dtype
        np.testing.assert_allclose(result[key], value, case.rtol, case.atol)
