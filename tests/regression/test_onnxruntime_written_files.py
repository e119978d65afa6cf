"""Files that onnxruntime writes and runs did not open: its domain not imported, an activation that it fuses."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import loopdbg
from error_fields import raises_error
from text_models import load_proto

FUSED = """<ir_version: 10, opset_import: ["": 21IMPORT]>
g (float[1,2] x) => (float[1,2] y) <int64 n = {3}, float[2,2] w = {1, 2, 3, 4}> {
  y = Loop (n, , x) <body = b (int64 i, bool c, float[1,2] s) => (bool c2, float[1,2] s2) {
    c2 = Identity (c)
    [fused] s2 = DOMAIN.FusedMatMul <alpha = 0.5> (s, w)
  }>
}"""
GEMM = """<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, -2, -3, 4}, float[2] bias = {0.5, -0.5}> {
  y = com.microsoft.FusedGemm <activation = "NAME", alpha = 1.0, beta = 1.0PARAMETERS> (x, w, bias)
}"""
X = np.float32([[1, -1]])


def test_its_domain_need_not_be_imported() -> None:
    m = load_proto(onnx.parser.parse_model(FUSED.replace("IMPORT", "").replace("DOMAIN", "com.microsoft")))
    (note,) = m.graph.notes
    assert "FusedMatMul 'fused'" in note and "version 1 is taken" in note
    imported = load_proto(
        onnx.parser.parse_model(FUSED.replace("IMPORT", ', "com.microsoft": 1').replace("DOMAIN", "com.microsoft"))
    )
    assert not imported.graph.notes
    assert m.run({"x": X})["y"].tobytes() == imported.run({"x": X})["y"].tobytes()


def test_another_domain_has_to_be() -> None:
    with raises_error(loopdbg.ModelError, node="fused", op_type="FusedMatMul", name="org.example"):
        load_proto(onnx.parser.parse_model(FUSED.replace("IMPORT", "").replace("DOMAIN", "org.example")))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Relu", ""),
        ("Softplus", ""),
        ("Softsign", ""),
        ("Elu", ", activation_alpha = 0.5"),
        ("Selu", ", activation_alpha = 1.5, activation_gamma = 1.25"),
        ("ThresholdedRelu", ", activation_alpha = 0.25"),
    ],
)
def test_activations_that_are_fused(name: str, parameters: str) -> None:
    import onnxruntime

    source = onnx.parser.parse_model(GEMM.replace("NAME", name).replace("PARAMETERS", parameters))
    right = onnxruntime.InferenceSession(source.SerializeToString()).run(None, {"x": X})[0]
    np.testing.assert_allclose(load_proto(source).run({"x": X})["y"], right, rtol=1e-5, atol=1e-6)
