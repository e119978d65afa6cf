"""Convolutions and pools in random loops: the same bits in every execution mode, and onnxruntime's numbers within a
tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import onnxruntime_peer
from differential_testing import check_all_modes
from hypothesis_settings import example_settings
from strategies.draws import ChoiceSource, SeededChoices
from text_models import load_proto, proto

Array = np.ndarray[Any, np.dtype[Any]]


def numbers(draw: ChoiceSource, *shape: int) -> Array:
    rng = np.random.default_rng(draw.integer(0, 1 << 30))
    return (rng.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype(np.float32)


def shaped(draw: ChoiceSource, channels: int, size: list[int]) -> tuple[str, list[Array], str]:
    """A node that keeps the shape: type, weights, attributes."""
    rank = len(size)
    groups = draw.pick([g for g in (1, 2, channels) if channels % g == 0])
    match draw.pick(["conv", "conv", "conv", "strided", "max", "average", "transposed"]):
        case "max":
            return "MaxPool", [], f"kernel_shape={[3] * rank}, pads={[1] * 2 * rank}"
        case "average":
            include = draw.integer(0, 1)
            return "AveragePool", [], f"kernel_shape={[3] * rank}, pads={[1] * 2 * rank}, count_include_pad={include}"
        case "transposed":
            weights = [numbers(draw, channels, channels // groups, *[3] * rank)]
            return "ConvTranspose", weights, f"group={groups}, pads={[1] * 2 * rank}"
        case "strided":  # one in the middle of each window
            weights = [numbers(draw, channels, channels // groups, *[1] * rank), numbers(draw, channels)]
            pads = [0] * rank + [n - 1 for n in size]
            return "Conv", weights, f"group={groups}, strides={[2] * rank}, pads={pads}"
    reach = [draw.pick([0, 1, 2]) for _ in range(rank)]
    dilation = draw.pick([1, 2])
    weights = [numbers(draw, channels, channels // groups, *(2 * r + 1 for r in reach))]
    weights += [numbers(draw, channels)] if draw.integer(0, 1) else []
    pads = [r * dilation for r in reach * 2]
    return "Conv", weights, f"group={groups}, dilations={[dilation] * rank}, pads={pads}"


def program(draw: ChoiceSource) -> tuple[Any, dict[str, Array]]:
    """A model with one loop, and its inputs."""
    channels, size = draw.pick([1, 2, 6, 11]), [draw.integer(1, 20) for _ in range(draw.integer(1, 2))]
    shape = [draw.pick([1, 1, 3]), channels, *size]
    arrays: dict[str, Array] = {"x": numbers(draw, *shape)}
    lines, constants, last = [], "", "h"
    for k in range(draw.integer(1, 3)):
        op_type, weights, attributes = shaped(draw, channels, size)
        names = [f"w{k}_{j}" for j in range(len(weights))]
        arrays |= dict(zip(names, weights, strict=True))
        lines.append(f"v{k} = {op_type} <{attributes}> ({', '.join([last, *names])})")
        last = f"v{k}"
    lines += [f"next = Tanh ({last})", "kept = Identity (c)", "shown = Identity (next)"]
    inputs = {name: array for name, array in arrays.items() if name == "x" or draw.integer(0, 1)}
    declared = ", ".join(f"float[{','.join(map(str, array.shape))}] {name}" for name, array in inputs.items())
    type_ = f"float[{','.join(map(str, shape))}]"
    source = proto(
        f"g ({declared}) => ({type_} y, float[n,{type_[6:-1]}] ys) {{ {constants}"
        f" n = Constant <value_int = {draw.integer(2, 5)}> () t = Constant <value = bool {{1}}> ()"
        f" y, ys = Loop (n, t, x) <body = b (int64 i, bool c, {type_} h) => (bool kept, {type_} next, {type_} shown)"
        f" {{ {' '.join(lines)} }}> }}"
    )
    rest = arrays.keys() - inputs.keys()
    source.graph.initializer.extend(onnx.numpy_helper.from_array(arrays[name], name) for name in sorted(rest))
    return source, inputs


def check(draw: ChoiceSource) -> None:
    source, inputs = program(draw)
    other = {**inputs, "x": numbers(draw, *inputs["x"].shape)} if "x" in inputs else None
    check_all_modes(lambda: load_proto(source), inputs, other, draw)
    theirs = onnxruntime_peer.run(source, inputs)
    for name, ours in load_proto(source).run(inputs).items():
        np.testing.assert_allclose(ours, theirs[name], 1e-3, 1e-4)


@example_settings(40, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_convolution_loops_agree_in_all_modes(seed: int) -> None:
    check(SeededChoices(seed))


@pytest.mark.parametrize("seed", range(8))
def test_fixed_convolution_loops_agree(seed: int) -> None:
    check(SeededChoices(f"always {seed}"))
