"""Messages are read as protobuf reads them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from loopdbg.runtime.frontends.onnx import proto as own
from loopdbg.runtime.frontends.onnx.proto_decoding import tensor_to_array
from loopdbg.runtime.safe_file_reading import FileSlice, StableFile
from text_models import SAMPLES

SMALL = [path for path in sorted(SAMPLES.rglob("*.onnx")) if path.stat().st_size < 20_000]


def everything() -> onnx.ModelProto:
    """A model with fields of every kind."""
    body = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "body", [], [])
    tensors = [
        helper.make_tensor("floats", onnx.TensorProto.FLOAT, [2], [1.5, -2.0]),
        helper.make_tensor("raw", onnx.TensorProto.FLOAT, [1], b"\0\0\x80\x3f", raw=True),
        helper.make_tensor("int64", onnx.TensorProto.INT64, [3], [-1, 1 << 40, 0]),
        helper.make_tensor("int32", onnx.TensorProto.INT32, [2], [-5, 5]),
        helper.make_tensor("double", onnx.TensorProto.DOUBLE, [1], [2.5]),
        helper.make_tensor("uint64", onnx.TensorProto.UINT64, [1], [(1 << 64) - 1]),
        helper.make_tensor("halves", onnx.TensorProto.FLOAT16, [2], [0.5, -1.0]),
        helper.make_tensor("strings", onnx.TensorProto.STRING, [2], [b"a", b"\xff"]),
    ]
    node = helper.make_node("Loop", ["n", "c"], ["out"], body=body, i=-3, f=2.5, s="text", ints=[1, -2], floats=[1.0])
    node.attribute.append(helper.make_attribute("strings", ["a", "b"]))
    node.attribute.append(helper.make_attribute("t", tensors[0]))
    node.attribute.append(helper.make_attribute("tensors", tensors[:2]))
    node.attribute.append(helper.make_attribute("tp", helper.make_tensor_type_proto(1, [1, "N", None])))
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(7, None))
    inputs = [
        helper.make_value_info("s", sequence),
        helper.make_value_info("o", helper.make_optional_type_proto(sequence)),
        helper.make_value_info("m", helper.make_map_type_proto(7, sequence)),
        helper.make_value_info("p", helper.make_sparse_tensor_type_proto(1, [2])),
        helper.make_tensor_value_info("x", 1, ["N", 3, None]),
    ]
    graph = helper.make_graph([node], "main", inputs, inputs[:1], tensors, doc_string="of no matter")
    function = helper.make_function(
        "d", "f", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 20)], ["k"]
    )
    return helper.make_model(graph, functions=[function], producer_name="test")


def differences(ours: Any, theirs: Any, text: str = "") -> Iterator[str]:
    """Where a message of ours is not what protobuf's is, in the fields that ours have."""
    if isinstance(theirs, onnx.TypeProto.Map | onnx.TypeProto.SparseTensor | onnx.TypeProto.Opaque):
        return
    for field in theirs.DESCRIPTOR.fields:
        if not hasattr(ours, field.name):
            continue
        have, wanted, place = getattr(ours, field.name), getattr(theirs, field.name), f"{text}.{field.name}"
        if field.is_repeated:
            if field.message_type is None:
                if repr(list(have)) != repr(list(wanted)):
                    yield f"{place}: {have!r}, not {wanted!r}"
            elif len(have) != len(wanted):
                yield f"{place}: {len(have)}, not {len(wanted)}"
            else:
                for k, (item, other) in enumerate(zip(have, wanted, strict=True)):
                    yield from differences(item, other, f"{place}[{k}]")
            continue
        if ours.HasField(field.name) != theirs.HasField(field.name):
            yield f"{place}: there {ours.HasField(field.name)}"
        elif field.message_type is None:
            have = bytes(have) if isinstance(have, memoryview) else have
            if repr(have) != repr(wanted):
                yield f"{place}: {have!r}, not {wanted!r}"
        elif theirs.HasField(field.name):
            yield from differences(have, wanted, place)
    if theirs.DESCRIPTOR.oneofs and ours.WhichOneof("value") != theirs.WhichOneof("value"):
        yield f"{text}: {ours.WhichOneof('value')}"


def same(data: bytes) -> bool:
    """Read by both; False where neither can. Some nested messages ours pass over, right or wrong."""
    try:
        theirs = onnx.ModelProto.FromString(data)
    except Exception:
        theirs = None
    try:
        ours = own.ModelProto.FromString(data)
    except own.DecodeError:
        assert theirs is None
        return False
    if theirs is not None:
        assert list(differences(ours, theirs)) == []
    return True


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_sample_models(path: Path) -> None:
    assert same(path.read_bytes())


def test_every_kind_of_field() -> None:
    model = everything()
    assert same(model.SerializeToString())
    read: Any = own.convert_onnx_package_model(model)
    for ours, theirs in zip(read.graph.initializer, model.graph.initializer, strict=True):
        if theirs.data_type != onnx.TensorProto.STRING:
            np.testing.assert_array_equal(
                tensor_to_array(ours, None, "here"), numpy_helper.to_array(theirs), strict=True
            )
    node = read.graph.node[0]
    assert node.SerializeToString() == model.graph.node[0].SerializeToString()
    assert read.SerializeToString() == model.SerializeToString()
    assert not read.HasField("missing")
    assert own.TypeProto.FromString(b"").WhichOneof("value") is None
    assert own.TypeProto.FromString(b"").tensor_type.shape.dim == ()  # type: ignore[comparison-overlap]


def test_kinds_of_attributes() -> None:
    assert dict(onnx.AttributeProto.AttributeType.items()) == own.ATTRIBUTE_KINDS


def test_fields_have_the_numbers_of_the_onnx_package() -> None:
    names = {"Segment": "TensorProto.Segment", "Dimension": "TensorShapeProto.Dimension"}
    names |= {name: f"TypeProto.{name}" for name in ("Tensor", "Map")}
    for name, text in own._SCHEMA.items():
        if name in ("Element", "Unread"):
            continue
        theirs: Any = onnx
        for part in names.get(name, name).split("."):
            theirs = getattr(theirs, part)
        for entry in text.split(","):
            number, field, _ = entry.split()
            assert theirs.DESCRIPTOR.fields_by_name[field].number == int(number), f"{name}.{field}"


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A few bytes are others, missing, twice there, or moved."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        index = rng.randrange(len(out))
        size = rng.randint(1, 6)
        match rng.randrange(5):
            case 0:
                out[index] = rng.randrange(256)
            case 1:
                del out[index : index + size]
            case 2:
                out[index:index] = out[index : index + size]
            case 3:
                out[index] ^= 1 << rng.randrange(8)
            case 4:
                out[index:index] = rng.randbytes(size)
    return bytes(out)


def test_damaged_files_are_read_as_protobuf_reads_them() -> None:
    """What protobuf reads, ours read as the same; what it rejects, most of it ours reject as well."""
    rng = random.Random(5)
    sources = [everything().SerializeToString(), *(path.read_bytes() for path in SMALL[:5])]
    read = sum(same(damaged(rng.choice(sources), rng)) for _ in range(3000))
    assert 100 < read < 2900


@pytest.mark.parametrize(
    "data",
    [
        b"\x3a",  # a length is missing
        b"\x3a\x05\x12",  # it is more than there is
        b"\x08" + b"\xff" * 11,  # a number without end
        b"\x08\xff",
        b"\x00\x01",  # field 0
        b"\x0f",  # no such form
        b"\x0c",  # a group ends that did not begin
        b"\x0b\x10\x01",  # a group has no end
        b"\x0b\x14",  # another one ends
        b"\x3a\x09\x6a" + b"\x0d\x00\x00\x80\x3f",
        b"\x0d\x01",  # four bytes, of which one is there
        b"\x09\x01",
        b"\xff\xff\xff\xff\x7f\x00",  # a field number of more than 29 bits
    ],
)
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(own.DecodeError):
        own.ModelProto.FromString(data)
    assert not same(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0b\x10\x01\x0c" + b"\x08\x07",  # a group where a number is known, then the number
        b"\x08\x07\x08\x09",  # the last one counts
        b"\x0a\x01\x00",  # the number as bytes
        b"\x08" + b"\xff" * 9 + b"\x01",  # -1
        b"\x08" + b"\xff" * 9 + b"\x7f",  # more bits than a number has
        b"\x3a\x03\x12\x01a" + b"\x3a\x05\x12\x01b\x0a\x00",  # a graph in two parts
        b"\x3a\x03\x12\x01\xff",  # text that is not UTF-8
        b"\xf8\xff\xff\xff\x0f\x01",  # the greatest field number
        b"\x3a\x07\x0a\x05\x2a\x03\xa0\x01\x63",  # an attribute of no known type
    ],
)
def test_odd_messages(data: bytes) -> None:
    assert same(data)


def test_messages_inside_each_other_have_an_end() -> None:
    deep = b""
    for k in range(200):
        size, left = b"", len(deep)
        while left > 127:
            size, left = size + bytes([left & 127 | 128]), left >> 7
        deep = (b"\x22" if k % 2 else b"\x0a") + size + bytes([left]) + deep
    with pytest.raises(own.DecodeError, match="messages are nested"):
        own.TypeProto.FromString(deep)


def test_large_data_is_read_and_not_mapped(tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_normal((200, 201), np.float32)
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(values, "w")])
    path = tmp_path / "m.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    with StableFile(path) as file:
        model: Any = own.ModelProto.FromString(file)
        assert isinstance(model.graph.initializer[0].raw_data, FileSlice)
        read = tensor_to_array(model.graph.initializer[0], None, "here")
    path.write_bytes(b"")  # which would end a process that looks at a mapped file
    np.testing.assert_array_equal(read, values, strict=True)
    assert read.flags.aligned
    assert not read.flags.writeable
