"""The sources of a run's inputs, and the errors for unsuitable ones."""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from cli_runner import CliResult, run_cli, save_text_model
from loopdbg.runtime.errors import InputError
from loopdbg.runtime.graph import OptionalType, SequenceType, TensorType, ValueType
from loopdbg.tui.cli.model_inputs.value_parser import parse_value
from text_models import SAMPLES

PAIR = "g (float[2] x, int64 k) => (float[2] y, int64 l) { y = Identity (x) \n l = Identity (k) }"


def outputs(ran: CliResult) -> dict[str, Any]:
    """The outputs of a --json run, by name: (minimum, maximum)."""
    assert ran.status == 0, ran.err
    return {name: (item["min"], item["max"]) for name, item in json.loads(ran.out)["outputs"].items()}


def tensor(dtype: Any, *shape: int | str | None) -> TensorType:
    return TensorType(np.dtype(dtype), shape)


# ------------------------------------------------------------------ --input NAME=VALUE


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        (tensor(np.float32), "3", np.float32(3)),
        (tensor(np.float32), "-1e-3", np.float32(-1e-3)),
        (tensor(np.float32), ".5", np.float32(0.5)),
        (tensor(np.float64, 2), "[0.1, 2]", np.array([0.1, 2])),
        (tensor(np.float32, 3), "[NaN, Infinity, -Infinity]", np.array([np.nan, np.inf, -np.inf], np.float32)),
        (tensor(np.float32, 1), '["NaN"]', np.array([np.nan], np.float32)),
        (tensor(np.float64), "nan", np.array(np.nan)),
        (tensor(np.float64), "-inf", np.array(-np.inf)),
        (tensor(np.int64), str(2**63 - 1), np.int64(2**63 - 1)),
        (tensor(np.int64, 2), f"[{-(2**63)}, {2**53 + 1}]", np.array([-(2**63), 2**53 + 1])),
        (tensor(np.uint64, 2), f"[1, {2**64 - 1}]", np.array([1, 2**64 - 1], np.uint64)),
        (tensor(np.int32), "1e3", np.int32(1000)),
        (tensor(np.int64), "007", np.int64(7)),
        (tensor(bool), "true", np.bool_(True)),
        (tensor(bool), "False", np.bool_(False)),
        (tensor(bool, 2), "[true, 0]", np.array([True, False])),
        (tensor(np.float16), "0.1", np.float16(0.1)),
        (tensor(ml_dtypes.bfloat16, 1), "[0.1]", np.array([0.1], ml_dtypes.bfloat16)),
        (tensor(ml_dtypes.int4, 2), "[-8, 7]", np.array([-8, 7], ml_dtypes.int4)),
        (tensor(np.complex64), '"1+2j"', np.complex64(1 + 2j)),
        (tensor(np.float32, 0), "[]", np.zeros(0, np.float32)),
        (tensor(np.float32, 1, 2), "[[1, 2]]", np.array([[1, 2]], np.float32)),
        (tensor(object), "hello", np.array("hello", object)),
        (tensor(object), '"3"', np.array("3", object)),
        (tensor(object), "3", np.array("3", object)),
        (tensor(object, 2), '["a", "b\\n"]', np.array(["a", "b\n"], object)),
    ],
)
def test_typed_values_keep_every_bit(declared: TensorType, text: str, value: Any) -> None:
    result = parse_value("x", declared, text)
    assert result.dtype == declared.dtype
    assert result.shape == np.shape(value)
    np.testing.assert_array_equal(result, value)


def test_sequences_and_optionals() -> None:
    result = parse_value("x", SequenceType(tensor(np.int64, None)), "[[1, 2], [3]]")
    assert [item.tolist() for item in result] == [[1, 2], [3]]
    assert parse_value("x", OptionalType(tensor(np.int64)), "none") is None
    assert parse_value("x", OptionalType(tensor(np.int64)), "3").item() == 3


@pytest.mark.parametrize(
    ("declared", "text", "why"),
    [
        (tensor(np.int64), "3.5", "needs int64[], not 3.5"),
        (tensor(np.int64), "true", "needs int64[], not true"),
        (tensor(np.int32), str(2**31), "needs int32[], not 2147483648"),
        (tensor(np.uint8, 1), "[-1]", "needs uint8[1], not -1"),
        (tensor(ml_dtypes.int4), "8", "needs int4[], not 8"),
        (tensor(np.float32), "1e39", "not 1e+39 (too large)"),
        (tensor(np.float32), '{"a": 1}', 'not {"a": 1}'),
        (tensor(np.float32), "null", "not null"),
        (tensor(np.float32, 1), '["a"]', 'not "a"'),
        (tensor(bool), "2", "needs bool[], not 2"),
        (tensor(object, 1), "[1]", "needs string[1], not 1"),
        (tensor(np.float32), "three", "cannot read 'three'; give a number, a JSON list"),
        (tensor(np.float32), "", "cannot read ''"),
        (tensor(np.float32), "[1, 2", "cannot read '[1, 2'"),
        (tensor(np.float32), "1e999", "cannot read '1e999'"),
        (tensor(np.float32, 2, 2), "[[1], [2, 3]]", "different lengths"),
        (tensor(object, 2), '["a", ["b"]]', "different lengths"),
        (SequenceType(tensor(np.int64)), "3", "is a sequence"),
        (tensor(np.float32), "nowhere.npy", "nowhere.npy: no such file"),
    ],
)
def test_unreadable_values_are_refused(declared: ValueType, text: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_value("x", declared, text)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sign", ["[", "9"])
def test_endless_values_are_refused(sign: str) -> None:
    with pytest.raises(InputError, match="cannot read") as caught:
        parse_value("x", tensor(np.float32), sign * 100_000)
    assert len(str(caught.value)) < 300


def test_numbers_lists_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, PAIR)
    np.save(tmp_path / "x.npy", np.array([7, 8], ">f4"))
    ran = run_cli(capsys, "run", model, "--json", "--input", f"x={tmp_path / 'x.npy'}", "--input", "k=5")
    assert outputs(ran) == {"y": (7, 8), "l": (5, 5)}
    assert ran.err == ""


def test_names_may_contain_an_equals_sign(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, PAIR)
    proto = onnx.load(model)
    proto.graph.input[1].name = proto.graph.node[1].input[0] = "k=1"
    onnx.save(proto, model)
    assert outputs(run_cli(capsys, "run", model, "--json", "--input", "k=1=9"))["l"] == (9, 9)


# ------------------------------------------------------------------ --inputs


def test_input_option_overrides_an_npz(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, source = save_text_model(tmp_path, PAIR), tmp_path / "in.npz"
    np.savez(source, x=np.array([1, 2], np.float32), k=np.int64(3))
    assert outputs(run_cli(capsys, "run", model, "--json", "--inputs", source)) == {"y": (1, 2), "l": (3, 3)}
    ran = run_cli(capsys, "run", model, "--json", "--inputs", source, "--input", "k=4")
    assert outputs(ran) == {"y": (1, 2), "l": (4, 4)}
    assert ran.err == ""


def test_npz_with_unused_arrays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, source = save_text_model(tmp_path, PAIR), tmp_path / "in.npz"
    np.savez(source, x=np.zeros(2, np.float32), k=np.int64(3), expected=np.zeros(3))
    ran = run_cli(capsys, "run", model, "--inputs", source)
    assert ran.status == 0
    assert ran.err == f"note: {source}: ignored 'expected', which the model has no input for\n"


def folder_of_test_data(path: Path, **more: bytes) -> Path:
    path.mkdir()
    for number, array in enumerate((np.array([5, 6], np.float32), np.array(7))):
        (path / f"input_{number}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for name, data in more.items():
        (path / f"{name}.pb").write_bytes(data)
    return path


def test_onnx_test_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, folder = save_text_model(tmp_path, PAIR), folder_of_test_data(tmp_path / "data", other_0=b"?")
    assert outputs(run_cli(capsys, "run", model, "--json", "--inputs", folder)) == {"y": (5, 6), "l": (7, 7)}


def test_onnx_test_data_of_a_sequence_and_an_optional(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(
        tmp_path,
        """g (seq(float[N]) s, optional(float[2]) o) => (float[N] y, bool b) {
            zero = Constant <value_int = 0> ()
            y = SequenceAt (s, zero)
            b = OptionalHasElement (o)
        }""",
    )
    folder = tmp_path / "data"
    folder.mkdir()
    sequence = numpy_helper.from_list([np.array([1, 2], np.float32), np.array([3], np.float32)])
    (folder / "input_0.pb").write_bytes(sequence.SerializeToString())
    optional = numpy_helper.from_optional(np.array([1, 2], np.float32))
    (folder / "input_1.pb").write_bytes(optional.SerializeToString())
    assert outputs(run_cli(capsys, "run", model, "--json", "--inputs", folder)) == {"y": (1, 2), "b": (1, 1)}
    (folder / "input_1.pb").unlink()
    assert outputs(run_cli(capsys, "run", model, "--json", "--inputs", folder)) == {"y": (1, 2), "b": (0, 0)}


# ------------------------------------------------------------------ no inputs passed


def test_sidecar_inputs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, PAIR)
    folder_of_test_data(tmp_path / "test_data_set_0")
    ran = run_cli(capsys, "run", model, "--json")
    assert outputs(ran)["l"] == (7, 7)
    assert ran.err == "inputs: from test_data_set_0 (next to the model)\n"

    np.savez(tmp_path / "model.inputs.npz", x=np.array([1, 2], np.float32), k=np.int64(3))
    ran = run_cli(capsys, "run", model, "--json")
    assert outputs(ran)["l"] == (3, 3)
    assert ran.err == "inputs: from model.inputs.npz (next to the model)\n"

    ran = run_cli(capsys, "run", model, "--json", "--input", "k=9")
    assert outputs(ran) == {"y": (1, 2), "l": (9, 9)}
    assert ran.err == "inputs: x from model.inputs.npz (next to the model); k as given\n"


def test_random_inputs_follow_the_seed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, PAIR)
    first = run_cli(capsys, "run", model, "--json")
    assert first.err == "inputs: made with --seed 0: x float32[2], k int64[]\n"
    assert outputs(first) == outputs(run_cli(capsys, "run", model, "--json", "--seed", 0))
    assert outputs(first)["y"] != outputs(run_cli(capsys, "run", model, "--json", "--seed", 1))["y"]
    # Passing one input changes no other.
    ran = run_cli(capsys, "run", model, "--json", "--input", "k=3")
    assert outputs(ran)["y"] == outputs(first)["y"]
    assert ran.err == "inputs: made with --seed 0: x float32[2]; k as given\n"


def test_seed_option_requests_random_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", SAMPLES / "newton_sqrt.onnx", "--seed", 3)
    assert ran.err == "inputs: made with --seed 3 (an edge case): a float32[], tol float32[]\n"


SIZES = """g (float[N, D] a, float[N, 3] b, float[?] c) => (int64[2] sa, int64[2] sb, int64[1] sc) {
    sa = Shape (a)
    sb = Shape (b)
    sc = Shape (c)
}"""


def test_unknown_dimensions_get_a_size(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, SIZES.replace("?", ""))
    proto = onnx.load(model)
    proto.graph.input[2].type.tensor_type.shape.dim.add()
    onnx.save(proto, model)
    assert outputs(run_cli(capsys, "run", model, "--json")) == {"sa": (1, 1), "sb": (1, 3), "sc": (1, 1)}
    ran = run_cli(capsys, "run", model, "--json", "--dim", "N=5", "--dim", "c:0=4")
    assert outputs(ran) == {"sa": (1, 5), "sb": (3, 5), "sc": (4, 4)}
    assert ran.err == (
        "inputs: made with --seed 0: a float32[N,D] as [5,1], b float32[N,3] as [5,3], c float32[?] as [4]\n"
    )
    # A passed input determines N.
    ran = run_cli(capsys, "run", model, "--json", "--input", "a=[[1], [2]]")
    assert outputs(ran) == {"sa": (1, 2), "sb": (2, 3), "sc": (1, 1)}
    assert run_cli(capsys, "run", model, "--json", "--dim", "D=0").status == 0


@pytest.mark.parametrize(
    ("dim", "status", "why"),
    [
        ("M=3", 1, "no input has such a dimension; unknown are N, D"),
        ("b:1=4", 1, "the model fixes that dimension to 3"),
        ("N", 2, "expected NAME=N"),
        ("N=many", 2, "expected NAME=N"),
        ("N=-1", 2, "expected NAME=N"),
        ("N=9000000000000000000", 1, "input 'a' (float32[N,D]) is too large to be made"),
    ],
)
def test_inconsistent_dimensions_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, dim: str, status: int, why: str
) -> None:
    ran = run_cli(capsys, "run", save_text_model(tmp_path, SIZES.replace("?", "4")), "--dim", dim)
    assert ran.status == status
    assert why in ran.error_line


def test_every_element_type_can_be_generated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kinds = ["float16", "bfloat16", "double", "int8", "uint64", "bool", "string", "complex64", "float8e4m3fn"]
    kinds += ["float8e8m0", "int4", "uint4"]
    inputs = ", ".join(f"{kind}[2] x{k}" for k, kind in enumerate(kinds))
    results = ", ".join(f"{kind}[2] y{k}" for k, kind in enumerate(kinds))
    body = "\n".join(f"y{k} = Identity (x{k})" for k in range(len(kinds)))
    model = save_text_model(tmp_path, f"g ({inputs}) => ({results}) {{ {body} }}", opset=24)
    ran = run_cli(capsys, "run", model, "--json")
    assert ran.status == 0, ran.err
    assert "nan" not in ran.out


# ------------------------------------------------------------------ unsuitable inputs


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["--input", "z=1"], 1, "the model has no input 'z'; it has 'x', 'k'"),
        (["--input", "kk=1"], 1, "did you mean 'k'?"),
        (["--input", "x"], 2, "expected NAME=VALUE"),
        (["--input", "k=1", "--input", "k=2"], 2, "twice"),
        (["--input", "x=3"], 1, "needs shape [2] float32, got a scalar"),
        (["--input", "x=[1, 2, 3]"], 1, "needs shape [2] float32, got shape [3]"),
        (["--input", "x=double.npy"], 1, "needs float32[2], got float64 [2]"),
        (["--input", "x=both.npz"], 1, "is no .npy file"),
        (["--input", "x=pickled.npy"], 1, "pickle"),
        (["--input", "x=renamed.npy"], 1, "holds several arrays; give it as --inputs renamed.npy"),
        (["--input", "x=huge.npy"], 1, "huge.npy: "),
        (["--inputs", "double.npy"], 1, "holds one array without a name; give it as the value of one input"),
        (["--inputs", "nowhere.npz"], 1, "nowhere.npz: no such file"),
        (["--inputs", "x.npz"], 1, "x.npz lacks the input 'k' (int64[]); it holds 'x'"),
        (["--inputs", "wrong.npz"], 1, "wrong.npz: input 'x' needs float32[2], got float64 [2]"),
        (["--inputs", "pickled.npz"], 1, "pickled.npz: 'x' cannot be read: not plain arrays but pickled objects"),
        (["--inputs", "torn.npz"], 1, "torn.npz: not a readable .npy or .npz file"),
        (["--inputs", "flipped.npz"], 1, "flipped.npz: 'x' cannot be read"),
        (["--inputs", "text.npz"], 1, "text.npz: "),
        (["--inputs", "no_arrays.npz"], 1, "no_arrays.npz: "),
        (["--inputs", "empty.npz"], 1, "empty.npz: "),
        (["--inputs", "empty"], 1, "the folder holds no input_0.pb"),
        (["--inputs", "node"], 1, "give one of its folders, such as node/test_data_set_0"),
        (["--inputs", "three"], 1, "the model has only 2 inputs"),
        (["--inputs", "broken"], 1, "not a TensorProto"),
        (["--inputs", "x.npz", "--seed", "1"], 2, "use one or the other"),
        (["--seed", "-1"], 2, "'-1' is no whole number from 0 on"),
    ],
)
def test_unsuitable_inputs_are_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    status: int,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_what_does_not_fit()
    ran = run_cli(capsys, "run", save_text_model(tmp_path, PAIR), *arguments)
    assert ran.status == status
    assert why in ran.error_line


def write_what_does_not_fit() -> None:
    """Write the files of the test above into the current folder."""
    good = np.array([1, 2], np.float32)
    np.save("double.npy", good.astype(np.float64))
    np.savez("both.npz", x=good, k=np.int64(1))
    np.savez("x.npz", x=good)
    np.savez("wrong.npz", x=good.astype(np.float64), k=np.int64(1))
    np.savez("pickled.npz", x=np.array([{}, None]), k=np.int64(1))
    Path("pickled.npy").write_bytes(pickle.dumps([1, 2]))
    shutil.copy("both.npz", "renamed.npy")
    whole = Path("both.npz").read_bytes()
    Path("torn.npz").write_bytes(whole[: len(whole) // 2])
    Path("flipped.npz").write_bytes(whole.replace(good.tobytes(), b"\xff" * 8))  # its checksum is wrong now
    Path("text.npz").write_text("x = 3")
    with zipfile.ZipFile("no_arrays.npz", "w") as archive:
        archive.writestr("x", "three")
    Path("empty.npz").touch()
    header = Path("double.npy").read_bytes()[:128]
    Path("huge.npy").write_bytes(header.replace(b"(2,), ", b"(9999999999999,), ")[:128])
    Path("empty").mkdir()
    Path("node").mkdir()
    folder_of_test_data(Path("node/test_data_set_0"))
    folder_of_test_data(Path("three"), input_2=numpy_helper.from_array(good).SerializeToString())
    folder_of_test_data(Path("broken"), input_0=b"\xff\xff\xff")


def test_unsuitable_sidecar_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, PAIR)
    np.savez(tmp_path / "model.inputs.npz", x=np.zeros(2, np.float32))
    ran = run_cli(capsys, "run", model)
    assert ran.status == 1
    assert ran.error_line.startswith(
        "model.inputs.npz lacks the input 'k' (int64[]); it holds 'x'; add it, or give it as"
    )
    assert run_cli(capsys, "run", model, "--input", "k=3").status == 0


def test_input_with_a_default_is_optional(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, "g (float[2] x, float[1] w) => (float[2] y) { y = Mul (x, w) }")
    proto = onnx.load(model)
    proto.graph.initializer.append(numpy_helper.from_array(np.array([10], np.float32), "w"))
    onnx.save(proto, model)
    ran = run_cli(capsys, "run", model, "--json", "--input", "x=[1, 2]")
    assert outputs(ran) == {"y": (10, 20)}
    assert ran.err == ""
    np.savez(tmp_path / "in.npz", x=np.ones(2, np.float32))
    assert outputs(run_cli(capsys, "run", model, "--json", "--inputs", tmp_path / "in.npz")) == {"y": (10, 10)}
