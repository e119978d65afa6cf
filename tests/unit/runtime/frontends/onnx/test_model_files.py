"""Files: forms, suffixes, external data, and what a file that is no model is reported."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import text_models
from cli_runner import run_python_code
from error_fields import raises_error
from loopdbg.runtime.errors import LoopdbgError, ModelError
from loopdbg.runtime.frontends import read_model
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.frontends.onnx.type_checks import contradictory_shapes
from loopdbg.runtime.graph import Graph, loops, walk
from text_models import loop_text

from .onnx_texts import proto, value_names

MODEL = proto(
    loop_text(
        nodes="co = Identity (ci) one = Constant <value = float {1.5}> () t = Add (x, one) xo = Add (t, k)"
    ).replace("float a) {", "float a) <float k = {0.25}> {")
)
SUFFIXES = [
    *(".onnx", ".pb", ".textproto", ".prototxt", ".txtpb", ".pbtxt", ".json", ".onnxjson", ".onnxtxt", ".onnxtext"),
    *(".ONNX", ".Json"),
]


def same(a: Graph, b: Graph) -> None:
    assert [(n.name, n.op_type, value_names(n.inputs), value_names(n.outputs)) for n in walk(a)] == [
        (n.name, n.op_type, value_names(n.inputs), value_names(n.outputs)) for n in walk(b)
    ]
    assert [str(v.type) for v in (*a.inputs, *a.outputs)] == [str(v.type) for v in (*b.inputs, *b.outputs)]
    assert [v.constant for v in a.constants] == [v.constant for v in b.constants] == [np.float32(0.25)]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.filterwarnings("error:.*experimental")
def test_every_form(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    form = onnx.serialization.registry.get_format_from_file_extension(suffix.lower())
    path.write_bytes(onnx.serialization.registry.get(str(form)).serialize_proto(MODEL))
    same(read_model(path), frontend.from_proto(MODEL, "m"))
    same(read_model(str(path)), frontend.read(path))


def refused(path: Path, *words: str, reader: Callable[[Path], Graph] = read_model) -> None:
    with pytest.raises(ModelError) as caught:
        reader(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: "), message
    assert message.isprintable()
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("m.onnx", b"", ["the file is empty", "export the model again"]),
        ("m.json", b" \n ", ["the file is empty"]),
        ("m.onnx", MODEL.SerializeToString()[:-7], ["not an ONNX model in protobuf form", "complete"]),
        ("m.onnx", b"\xff\xfe\x00 no model", ["not an ONNX model in protobuf form"]),
        ("m.onnx", b'{"irVersion": "8"}', ["it looks like text: give it the suffix .json"]),
        ("m.onnx", b"<ir_version: 8>\ng () => () {}", ["give it the suffix .onnxtxt"]),
        ("m.onnx", b"ir_version: 8\ngraph {\n}", ["give it the suffix .textproto"]),
        ("m.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:0", ["Git LFS pointer", "git lfs pull"]),
        ("m.json", MODEL.SerializeToString(), ["not an ONNX model in json form"]),
        ("m.json", b'{"irVersion": 8', ["not an ONNX model in json form"]),
        ("m.json", b'{"nodes": []}', ["not an ONNX model in json form", "nodes"]),
        ("m.textproto", b"ir_version: 8 graf {}", ["not an ONNX model in textproto form", "graf"]),
        ("m.onnxtxt", b"<ir_version: 8> g (float x => {", ["not an ONNX model in onnxtxt form"]),
        ("m.textproto", b"ir_version: 8", ["holds no graph"]),
        ("m.pb", onnx.numpy_helper.from_array(np.arange(3)).SerializeToString(), [""]),
    ],
)
def test_broken_files(tmp_path: Path, name: str, data: bytes, words: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    refused(path, *words)


def test_paths(tmp_path: Path) -> None:
    refused(tmp_path / "m.onnx", "no such file")
    refused(tmp_path / "m.onnx", "cannot be read: No such file", reader=frontend.read)
    refused(tmp_path / "m.xml", "no such file")
    (tmp_path / "d.onnx").mkdir()
    refused(tmp_path / "d.onnx", "is a folder")
    for name in ("m.pt", "m", "ir.xml", "ir.bin"):
        refused(tmp_path / name, "no such file")
        (tmp_path / name).touch()
    refused(tmp_path / "m.pt", "suffix '.pt'", "known are .onnx, .pb", ".xml")
    refused(tmp_path / "m", "suffix ''")
    refused(tmp_path / "ir.bin", "open 'ir.xml' next to it")


def test_only_the_front_end_that_is_needed_is_imported() -> None:
    code = "import sys, loopdbg.runtime.frontends; print([m for m in ('onnx', 'lxml') if m in sys.modules])"
    assert run_python_code(code) == (0, "[]\n", "")


def weights(tmp_path: Path) -> tuple[Path, np.ndarray]:
    data = np.arange(300, dtype=np.float32)
    model = proto("g (float[300] x) => (float[300] y) { y = Add (x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(data, "w"))
    path = tmp_path / "sub" / "m.onnx"
    path.parent.mkdir()
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path, data


def test_external_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = weights(tmp_path)
    graph = read_model(path)
    np.testing.assert_array_equal(graph.constants[0].constant, data)
    monkeypatch.chdir(path.parent)
    np.testing.assert_array_equal(read_model("m.onnx").constants[0].constant, data)


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2", "BFLOAT16", "BOOL", "FLOAT8E5M2"])
def test_external_data_of_small_types(tmp_path: Path, kind: str) -> None:
    """Also where several elements share a byte, and the last one is not full."""
    if not hasattr(onnx.TensorProto, kind):
        pytest.skip("this version of onnx has no such type")
    tensor = onnx.helper.make_tensor("w", getattr(onnx.TensorProto, kind), [3], [1, 0, 1])
    model = proto("g (float x) => (float y) { y = Identity (x) }")
    model.graph.initializer.append(tensor)
    onnx.save(model, tmp_path / "inside.onnx")
    external = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), "w")
    if not external.HasField("raw_data"):
        pytest.skip("this version of onnx does not pack it")
    (tmp_path / "w.bin").write_bytes(b"12" + external.raw_data)
    external.ClearField("raw_data")
    external.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "2")):
        external.external_data.add(key=key, value=value)
    model.graph.initializer[0].CopyFrom(external)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    want, got = (read_model(tmp_path / name).constants[0].constant for name in ("inside.onnx", "m.onnx"))
    assert want is not None and got is not None
    assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


def test_broken_external_data(tmp_path: Path) -> None:
    path, _ = weights(tmp_path)
    file = path.parent / "weights.bin"
    file.write_bytes(file.read_bytes()[:-4])
    refused(path, "initializer 'w'", "the file 'weights.bin' next to the model", "1200", "1196")
    file.unlink()
    refused(path, "initializer 'w'", "the file 'weights.bin' next to the model")


def test_external_data_is_read_from_the_folder_of_the_model_alone(tmp_path: Path) -> None:
    path, _ = weights(tmp_path)
    file, elsewhere = path.parent / "weights.bin", tmp_path / "elsewhere.bin"
    file.rename(elsewhere)
    (path.parent / "link.bin").symlink_to(elsewhere)
    for location in ("../../secret", str(elsewhere), "link.bin"):
        model = onnx.load(path, load_external_data=False)
        model.graph.initializer[0].external_data[0].value = location
        path.write_bytes(model.SerializeToString())
        refused(path, "initializer 'w'", location)


def test_the_given_model_is_left_as_it_is() -> None:
    model = onnx.ModelProto.FromString(MODEL.SerializeToString())
    frontend.from_proto(model, "m")
    assert model.SerializeToString() == MODEL.SerializeToString()


def test_names_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(MODEL.SerializeToString().replace(b"\x02xo", b"\x02x\xff"))
    refused(path, r"the name b'x\xff' is not UTF-8")


def test_names_that_a_terminal_would_obey(tmp_path: Path) -> None:
    model = proto("g (float x) => (float y) { y = Neg (z) }")
    model.graph.node[0].name = "\x1b[31m\nred"
    onnx.save(model, tmp_path / "m.onnx")
    refused(tmp_path / "m.onnx", r"Neg '\x1b[31m\nred' (opset 16) uses 'z'")


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_raise_nothing_else(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "m.onnx"
    whole = MODEL.SerializeToString()
    read_any = 0
    for _ in range(400):
        data = bytearray(whole)
        place = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                del data[place:]
            case 1:
                data[place] = rng.randrange(256)
            case 2:
                data[place] ^= 1 << rng.randrange(8)
            case 3:
                del data[place : place + rng.randrange(1, 5)]
        path.write_bytes(data)
        try:
            read_any += bool(list(loops(read_model(path))))
        except LoopdbgError as error:
            assert str(error).isprintable()
    assert read_any


def test_name_with_line_break_gives_one_error_line() -> None:
    source = proto("g (float[2] x) => (float[2] y) { y = Add (x, x) }")
    source.graph.node[0].name = "one\ntwo"
    del source.graph.node[0].input[1]
    with raises_error(ModelError, node="one\ntwo", op_type="Add", name="inputs", expected="at least 2", got="1"):
        text_models.load_proto(source).run({"x": np.zeros(2, np.float32)})


@pytest.mark.parametrize(
    "text",
    [
        "g (float[6] x) => (float[2] a, float[2] b, float[2] c) { a, b, c = Split <num_outputs = 2> (x) }",
        "g (float[2,2] x, int64[2,1] i) => (float[2] y) { y = GatherND <batch_dims = -5> (x, i) }",
    ],
)
def test_what_ends_the_inference_of_onnx_does_not_end_the_process(text: str, tmp_path: Path) -> None:
    onnx.save(proto(text, 18), tmp_path / "wrong.onnx")
    assert contradictory_shapes(tmp_path / "wrong.onnx") == []


def test_contradicting_shapes_are_reported(tmp_path: Path) -> None:
    onnx.save(proto("g (float[2,3] x) => (float[3,3] y) { y = Add (x, x) }"), tmp_path / "odd.onnx")
    ((name, declared, computed),) = contradictory_shapes(tmp_path / "odd.onnx")
    assert (name, declared.shape, computed.shape) == ("y", (3, 3), (2, 3))


def test_attributes_that_the_reference_cannot_take_are_an_error() -> None:
    source = proto('g (int32[6] x) => (float[n] y) { y = TfIdfVectorizer <mode = "TF"> (x) }', 9)
    with pytest.raises(LoopdbgError, match="TfIdfVectorizer"):
        text_models.load_proto(source).run({"x": np.zeros(6, np.int32)})
