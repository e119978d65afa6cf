"""Instance, group, RMS and mean-variance normalization next to onnxruntime, OpenVINO and PyTorch's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_features import FLOAT_LEVELS, available_levels, limit_to
from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System
from loopdbg.runtime.kernels import kernel as kernels
from loopdbg.runtime.kernels import loop_nest

from .operator_checks import run_operator
from .single_node import Array, assert_close, onnx_node, openvino_node

F16, F32, F64 = np.float16, np.float32, np.float64


def signed(shape: tuple[int, ...], dtype: Any = F32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0.5, 2, shape).astype(dtype)


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 3, 4, 17), (2, 1, 2, 3, 4)], ids=str)
@pytest.mark.parametrize("epsilon", [1e-5, 0.25])
def test_instance_normalization(shape: tuple[int, ...], epsilon: float) -> None:
    channels = shape[1:2]
    inputs = [signed(shape), signed(channels, seed=1), signed(channels, seed=2)]
    assert_close(*onnx_node("InstanceNormalization", list(inputs), epsilon=epsilon), atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 5), (1, 6, 4, 3)], ids=str)
def test_group_normalization(shape: tuple[int, ...], groups: int) -> None:
    x, scale, bias = signed(shape), signed((6,), seed=1), signed((6,), seed=2)
    if len(shape) > 2:
        assert_close(
            *openvino_node("GroupNormalization", [x, scale, bias], opset=12, num_groups=groups, epsilon=1e-3), atol=1e-5
        )
    apart = x.reshape(shape[0], groups, -1).astype(F64)
    plain = (apart - apart.mean(2, keepdims=True)) / np.sqrt(apart.var(2, keepdims=True) + 1e-5)
    column = (6, *(1,) * (len(shape) - 2))
    expected = plain.reshape(shape) * scale.reshape(column) + bias.reshape(column)
    result = run_operator(System.ONNX, "GroupNormalization", x, scale, bias, version=21, num_groups=groups)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [F32, F64, F16])
@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_rms_normalization(dtype: Any, axis: int) -> None:
    x = signed((2, 3, 40), dtype)
    for scale in (signed(x.shape[axis:], dtype, 1), signed((1,), dtype, 1), signed((3, 1), dtype, 1)):
        if scale.ndim > 3 + min(axis, 0) + 3 * (axis >= 0):
            continue
        under = tuple(range(axis % 3, 3))
        width = x.astype(F64)
        plain = width / np.sqrt((width * width).mean(under, keepdims=True) + 1e-5)
        result = run_operator(System.ONNX, "RMSNormalization", x, scale, version=23, axis=axis)
        tolerance = {F16: 3e-3, F32: 1e-5, F64: 1e-12}[dtype]
        np.testing.assert_allclose(result, plain * scale, rtol=tolerance, atol=tolerance)
        assert result.dtype == dtype


@pytest.mark.parametrize("axes", [(0, 2, 3), (0, 1, 2, 3), (1,), (-1, -2)], ids=str)
def test_mean_variance_normalization(axes: tuple[int, ...]) -> None:
    x = signed((2, 3, 4, 5))
    expected = (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + 1e-9)
    result = run_operator(System.ONNX, "MeanVarianceNormalization", x, version=13, axes=axes)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    for variance in (True, False):
        for mode in ("inside_sqrt", "outside_sqrt"):
            inputs = [x, np.array(axes)]
            attributes = {"normalize_variance": variance, "eps": 0.25, "eps_mode": mode}
            assert_close(*openvino_node("MVN", inputs, opset=6, constant=(1,), **attributes), atol=1e-5)


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("variance", [True, False])
def test_the_first_mvn(across: bool, variance: bool) -> None:
    attributes = {"across_channels": across, "normalize_variance": variance, "eps": 0.1}
    assert_close(*openvino_node("MVN", [signed((2, 3, 4, 5))], opset=2, **attributes), atol=1e-5)


def test_what_does_not_fit() -> None:
    x, four = signed((2, 4, 3)), signed((4,))
    with raises_error(ModelError, name="groups", got="3"):
        run_operator(System.ONNX, "GroupNormalization", x, four, four, version=21, num_groups=3)
    with pytest.raises(ValueError, match="channels"):
        run_operator(System.ONNX, "InstanceNormalization", x, four[:3], four, version=6)
    with raises_error(ModelError, name="Scale", expected="(2, 4, 3)", got="(4,)"):
        run_operator(System.ONNX, "RMSNormalization", x, four, version=23)
    with raises_error(ModelError, name="eps_mode", expected="inside_sqrt, outside_sqrt", got="'elsewhere'"):
        words = {"normalize_variance": "true", "eps": "1", "eps_mode": "elsewhere"}
        run_operator(System.OPENVINO, "MVN", x, np.array([1]), version=6, **words)


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 33, 100, 513])
def test_processors_give_the_same_bits(length: int) -> None:
    x = np.concatenate([signed((5, length)) * 9, np.full((1, length), -np.inf, F32), np.full((1, length), np.nan, F32)])
    bits = int(np.float32(1e-5).view(np.uint32))
    scale, bias = x[0].copy(), x[1].copy()
    results: dict[str, list[bytes]] = {"softmax": [], "logarithm": [], "normalize": []}
    for kind in available_levels(*FLOAT_LEVELS):
        with limit_to(kind):
            for name, logarithm in (("softmax", 0), ("logarithm", 1)):
                out = np.empty_like(x)
                assert loop_nest.run_kernel(
                    kernels.routine_kernel("softmax_normalize.softmax"), (x, out), extra=(len(x), length, logarithm)
                )
                results[name].append(np.where(np.isnan(out), F32(np.nan), out).tobytes())  # whatever the sign of a NaN
            out, mean, inverse = np.empty_like(x), np.empty(len(x), F32), np.empty(len(x), F32)
            kernel = kernels.routine_kernel("softmax_normalize.normalize")
            assert loop_nest.run_kernel(kernel, (x, scale, bias, out, mean, inverse), extra=(len(x), length, bits, 15))
            results["normalize"].append(out.tobytes() + mean.tobytes() + inverse.tobytes())
    # Powers are rounded once more where there is no FMA.
    assert len(set(results["softmax"][1:])) <= 1 and len(set(results["logarithm"][1:])) <= 1
    assert len(set(results["normalize"])) == 1


@pytest.mark.parametrize("length", [1, 7, 16, 100, 4096])
def test_softmax_is_exact_to_few_bits(length: int) -> None:
    x = signed((3, length)) * np.array([[0.01], [1], [20]], F32)
    for name in ("Softmax", "LogSoftmax"):
        result = run_operator(System.ONNX, name, x, version=13)
        width = x.astype(F64) - x.max(1, keepdims=True).astype(F64)
        powers = np.exp(width)
        expected = powers / powers.sum(1, keepdims=True)
        if name == "LogSoftmax":
            expected = width - np.log(powers.sum(1, keepdims=True))
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-30 if name == "Softmax" else 1e-6)
