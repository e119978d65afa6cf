"""OpenVINO IR: constants and the ``.bin``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir_builder import TRUE, IrNetBuilder, SaveNet, tensor_type
from loopdbg.runtime.errors import ModelError, UnsupportedError
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import TensorType


def constant_file(save: SaveNet, data: str, blob: bytes | None, port: str = "", type: str = "Const") -> Path:
    return save(
        '<net version="11"><layers>\n'
        f'<layer id="0" name="w" type="{type}" version="opset1"><data {data}/>\n'
        f'<output><port id="7" {port}</output></layer></layers></net>',
        blob=blob,
    )


PORT = 'precision="FP32"/>'


@pytest.mark.parametrize(
    ("element", "shape", "blob", "expected"),
    [
        ("f32", "2", np.array([1, -2], "<f4"), np.array([1, -2], "f4")),
        ("f16", "", np.array(1.5, "<f2"), np.array(1.5, "f2")),
        ("f64", "1,1", np.array([0.1], "<f8"), np.array([[0.1]], "f8")),
        ("i64", "2,1", np.array([1, -1], "<i8"), np.array([[1], [-1]], "i8")),
        ("u8", "3", b"\x00\x80\xff", np.array([0, 128, 255], "u1")),
        ("i16", "1", b"\xfe\xff", np.array([-2], "i2")),
        ("boolean", "3", b"\x00\x01\x02", np.array([False, True, True])),
        ("bf16", "2", b"\x80\x3f\x20\x40", np.array([1, 2.5], ml_dtypes.bfloat16)),
        ("f8e4m3", "2", b"\x38\x42", np.array([1, 2.5], "f4").astype(ml_dtypes.float8_e4m3fn)),
        ("f8e5m2", "1", b"\x3c", np.array([1], "f4").astype(ml_dtypes.float8_e5m2)),
        # docs/semantics.md 7.2: two to a byte, the low four bits first.
        ("i4", "3", b"\xe1\x07", np.array([1, -2, 7], ml_dtypes.int4)),
        ("i4", "2", b"\x8f", np.array([-1, -8], ml_dtypes.int4)),
        ("u4", "3", b"\xf1\x07", np.array([1, 15, 7], ml_dtypes.uint4)),
        ("f4e2m1", "3", b"\xf1\x02", np.array([0.5, -6, 1], "f4").astype(ml_dtypes.float4_e2m1fn)),
        # Types that only constants have; the bytes are OpenVINO's own for these numbers.
        ("u1", "9", b"\xb0\x80", np.array([1, 0, 1, 1, 0, 0, 0, 0, 1], "u1")),
        ("u2", "5", b"\xe4\x01", np.array([0, 1, 2, 3, 1], ml_dtypes.uint2)),
        ("u3", "8", b"\x1b\x1b\x0f", np.arange(8, dtype="u1")),
        ("u6", "2,2", b"\x12\x3f\x03", np.array([[1, 2], [3, 63]], "u1")),
        ("nf4", "3", b"\x70\x0f", np.array([-1, 0, 1], "f4")),
        ("f32", "0,3", b"", np.zeros((0, 3), "f4")),
    ],
)
def test_constants(save: SaveNet, element: str, shape: str, blob: Any, expected: np.ndarray[Any, Any]) -> None:
    blob = blob if isinstance(blob, bytes) else blob.tobytes()
    data = f'element_type="{element}" shape="{shape}" offset="0" size="{len(blob)}"'
    graph = read(constant_file(save, data, blob, PORT))
    [value] = graph.constants
    assert value.constant is not None
    assert value.type == TensorType(expected.dtype, expected.shape)
    assert value.constant.dtype == expected.dtype
    assert value.constant.shape == expected.shape
    assert np.array_equal(value.constant.astype("f8"), expected.astype("f8"))
    assert not value.constant.flags.writeable
    assert graph.nodes == []


@pytest.mark.parametrize("type", ["Const", "Constant", "const"])
@pytest.mark.parametrize(
    ("data", "port"),
    [
        # As in the written spec's own TensorIterator example (docs/semantics.md 7.2).
        ('offset="0" size="8"', 'precision="FP32"><dim>1</dim><dim>2</dim></port>'),
        ('offset="0" size="8" element_type="f32"', "><dim>1</dim><dim>2</dim></port>"),
        ('offset="0" size="8" shape="1,2"', 'precision="FP32"/>'),
        # <data> wins: the dimensions of ports are not to be trusted (docs/semantics.md 7.2).
        ('offset="0" size="8" shape="1,2" element_type="f32"', 'precision="I64"><dim>99</dim></port>'),
    ],
)
def test_type_and_shape_of_constants(save: SaveNet, type: str, data: str, port: str) -> None:
    graph = read(constant_file(save, data, np.array([1, 2], "<f4").tobytes(), port, type))
    assert graph.constants[0].constant is not None
    assert graph.constants[0].constant.tolist() == [[1, 2]]


def test_a_scalar_typed_by_its_port(save: SaveNet) -> None:
    graph = read(constant_file(save, 'offset="0" size="4"', b"\x00\x00\x80\x3f", PORT))
    assert graph.constants[0].constant == np.float32(1)
    assert tensor_type(graph.constants[0]).shape == ()


def test_constants_are_aligned_wherever_they_lie(save: SaveNet) -> None:
    net = IrNetBuilder()
    for array in (np.array([1, 2], "f4"), TRUE, np.array([3, 4], "f4")):
        net.result(net.constant(array))
    first, _, last = (value.constant for value in read(save(net)).constants)
    assert first is not None and last is not None
    assert first.flags.aligned and last.flags.aligned
    assert last.tolist() == [3, 4]


def layers(save: SaveNet, places: list[tuple[int, int]], blob: bytes) -> Path:
    """Constants of bytes at these offsets, of these sizes."""
    port = '<output><port id="0" precision="U8"/></output>'
    return save(
        '<net version="11"><layers>'
        + "".join(
            f'<layer id="{k}" name="w{k}" type="Const" version="opset1"><data element_type="u8" shape="{size}"'
            f' offset="{offset}" size="{size}"/>{port}</layer>'
            for k, (offset, size) in enumerate(places)
        )
        + "</layers></net>",
        blob=blob,
    )


def test_equal_constants_are_in_memory_once(save: SaveNet) -> None:
    item, other, within = (v.constant for v in read(layers(save, [(0, 4), (0, 4), (1, 2)], b"abcd")).constants)
    assert item is not None and other is not None and within is not None
    assert np.shares_memory(item, other)
    assert within.tobytes() == b"bc"


def test_constants_that_lie_in_each_other_fill_no_memory(save: SaveNet) -> None:
    size = 1 << 22
    path = layers(save, [(k, size - k) for k in range(40)], b"")
    with path.with_suffix(".bin").open("r+b") as file:
        file.truncate(size)
    with pytest.raises(ModelError, match="lie in each other, and are larger than"):
        read(path)


def test_a_missing_bin_matters_only_when_a_constant_needs_it(save: SaveNet) -> None:
    net = IrNetBuilder()
    net.result(net.layer("Relu", [net.parameter()]))
    path = save(net)
    path.with_suffix(".bin").unlink()
    assert len(read(path).nodes) == 1


@pytest.mark.parametrize(
    ("data", "blob", "message"),
    [
        (
            'element_type="f32" shape="2" offset="0" size="8"',
            None,
            r"Const 'w' has its data in .*model\.bin, which does not exist; put the \.bin next to the \.xml",
        ),
        (
            'element_type="f32" shape="2" offset="4" size="8"',
            b"12345678",
            r"Const 'w': offset 4 \+ size 8 reach beyond the end of .*model\.bin \(8 bytes\)",
        ),
        (
            'element_type="f32" shape="1" offset="0" size="4"',
            b"",
            r"Const 'w': offset 0 \+ size 4 reach beyond the end of .*model\.bin \(0 bytes\)",
        ),
        (
            'element_type="f32" shape="2,3" offset="0" size="8"',
            b"12345678",
            r"Const 'w': a constant float32\[2,3\] needs 24 bytes, its size says 8",
        ),
        ('element_type="i4" shape="5" offset="0" size="2"', b"12", r"int4\[5\] needs 3 bytes, its size says 2"),
        ('element_type="f32" shape="1" offset="-4" size="4"', b"1234", "offset -4, size 4 cannot be negative"),
        ('element_type="f32" shape="1" offset="0"', b"1234", "Const 'w' lacks its attribute 'size'"),
        ('element_type="f32" shape="1" offset="0x" size="4"', b"1234", 'offset="0x" is not an integer'),
        ('element_type="f32" shape="?" offset="0" size="4"', b"1234", "a shape without unknown dimensions"),
        ('element_type="f32" shape="..." offset="0" size="4"', b"1234", "a shape without unknown dimensions"),
        ('element_type="dynamic" shape="1" offset="0" size="4"', b"1234", "a constant needs an element_type"),
    ],
)
def test_broken_constants(save: SaveNet, data: str, blob: bytes | None, message: str) -> None:
    with pytest.raises(ModelError, match=f"model.xml, line 2: .*{message}"):
        read(constant_file(save, data, blob, PORT))


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("no_type", "Const 'w': OpenVINO element type 'no_type' is not supported"),
        ("string", "Const 'w': string constants are not supported; give the strings as a model input"),
    ],
)
def test_constants_of_unsupported_types(save: SaveNet, element: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=f"model.xml, line 2: {message}"):
        read(constant_file(save, f'element_type="{element}" shape="8" offset="0" size="99"', b"x" * 99, PORT))
