"""Outputs and traces in every export format: other programs read back what was computed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cli_runner import run_cli, save_text_model
from error_fields import raises_error
from loopdbg.debugger.export_formats.format_registry import EXPORT_FORMATS, find_format, write_values
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.graph import OptionalType, SequenceType, TensorType
from recordings import record_run
from text_models import NESTED, SUM, model, random_floats

#: One output of every kind of value.
VALUES: dict[str, Any] = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "n": np.array(7, np.int64),
    "half": np.array([1.5, -2], ml_dtypes.bfloat16),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 3), np.float64),
    "words": np.array(["a", "ä"], object),
    "many": [np.ones(2, np.float32), np.zeros(3, np.float32)],
    "nothing": None,
}
TYPES = {
    **{name: TensorType(value.dtype, None) for name, value in VALUES.items() if isinstance(value, np.ndarray)},
    "many": SequenceType(TensorType(np.dtype(np.float32))),
    "nothing": OptionalType(TensorType(np.dtype(np.float32))),
}


def write_output(name: str, folder: Path) -> tuple[Path, list[str]]:
    remarks = write_values(find_format(name, "values"), folder / name, VALUES, TYPES)
    return folder / name, remarks


def test_safetensors_round_trip(tmp_path: Path) -> None:
    path, remarks = write_output("o.safetensors", tmp_path)
    size = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + size])
    assert size % 8 == 0 and header["half"] == {"dtype": "BF16", "shape": [2], "data_offsets": [32, 36]}
    assert len(remarks) == 3 and "'words' is text, for which safetensors has no type" in remarks[2]
    result = pytest.importorskip("safetensors.numpy").load_file(path)
    assert result.keys() == {"x", "n", "half", "flags", "empty", "many.0", "many.1"}
    for name in ("x", "n", "flags", "empty", "half"):
        assert result[name].tobytes() == VALUES[name].tobytes() and result[name].shape == VALUES[name].shape


def test_parquet_round_trip(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, remarks = write_output("o.parquet", tmp_path)
    (row,) = parquet.read_table(path).to_pylist()
    assert row["x"] == [[0, 1, 2], [3, 4, 5]] and row["n"] == 7 and row["half"] == [1.5, -2]
    assert row["flags"] == [True, False] and row["empty"] == [] and row["words"] == ["a", "ä"]
    assert row["many.1"] == [0, 0, 0] and len(remarks) == 2


def test_missing_pyarrow_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with raises_error(UsageError, name="pyarrow"):
        write_output("o.parquet", tmp_path)


def test_exported_onnx_test_data_are_compared_by_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_text_model(tmp_path, SUM)
    inputs = ("--input", "M=3", "--input", "v0=1")
    assert run_cli(capsys, "run", path, *inputs, "--output", f"{tmp_path / 'out'}/").status == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["output_0.pb", "output_1.pb"]
    assert "all 2 outputs are as in" in run_cli(capsys, "run", path, *inputs, "--expect", tmp_path / "out").err
    assert run_cli(capsys, "run", path, "--input", "M=3", "--input", "v0=2", "--expect", tmp_path / "out").status == 5


def test_optionals_and_sequences_are_test_data(tmp_path: Path) -> None:
    import onnx

    path, remarks = write_output("out/", tmp_path)
    assert remarks == [] and len(list(path.iterdir())) == len(VALUES)
    many = onnx.SequenceProto.FromString((path / "output_6.pb").read_bytes())
    assert [array.tolist() for array in onnx.numpy_helper.to_list(many)] == [[1, 1], [0, 0, 0]]
    nothing = onnx.OptionalProto.FromString((path / "output_7.pb").read_bytes())
    assert onnx.numpy_helper.to_optional(nothing) is None


# -- traces


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    record_run(tmp_path / "t.loopdb", model(NESTED), {"M": 3, "K": 2}, nodes=True)[0].close()
    return tmp_path / "t.loopdb"


def test_trace_as_json_lines(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = trace.with_suffix(".jsonl")
    ran = run_cli(capsys, "export", trace, "-o", target, "--loop", "main ▸ Loop_1 ▸ Loop_1")
    assert ran.status == 0 and "exported 9 boundaries" in ran.out
    lines = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    boundaries = [line for line in lines if "name" not in line]
    assert [(boundary["entry"], boundary["iteration"]) for boundary in boundaries] == [
        ([k], n) for k in range(3) for n in range(3)
    ]
    carried = [line for line in lines if line.get("name") == "u"]
    assert [item["value"] for item in carried] == [0, 0, 0, 0, 0, 1, 1, 1, 3]
    assert carried[5] == {**carried[0], "entry": [1], "iteration": 2, "value": 1}


def test_numbers_in_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_run(tmp_path / "t.loopdb", model(SUM), {"M": 1, "v0": float("nan")})[0].close()
    run_cli(capsys, "export", tmp_path / "t.loopdb", tmp_path / "t.jsonl", "--only", "v_in")
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [line["value"] for line in lines if "value" in line] == ["nan", "nan"]
    record_run(tmp_path / "u.loopdb", model(SUM), {"M": 1, "v0": np.float32(0.1)})[0].close()
    run_cli(capsys, "export", tmp_path / "u.loopdb", tmp_path / "u.jsonl", "--only", "v_in")
    assert '"shape": [], "value": 0.1}' in (tmp_path / "u.jsonl").read_text()


def test_trace_as_parquet(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run_cli(capsys, "export", trace, trace.with_suffix(".parquet")).status == 0
    table = parquet.read_table(trace.with_suffix(".parquet"))
    rows = table.to_pylist()
    assert len(rows) == 13 and [row["main ▸ Loop_1.t"] for row in rows if not row["entry"]] == [0, 0, 1, 3]
    assert rows[0]["main ▸ Loop_1 ▸ Loop_1.u"] is None and rows[0]["condition"] is None
    assert str(table.schema.field("main ▸ Loop_1.t").type) == "int64"


GROWS = """
grows (int64 M, float[n] v0) => (float[m] v) {
  v = Loop <body = body (int64 i, bool c, float[k] x) => (bool c, float[l] y) {
    y = Concat <axis = 0> (x, v0)
  }> (M, , v0)
}
"""


def test_tensors_in_parquet_and_safetensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet, tensors = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("safetensors.numpy")
    v0 = random_floats(2)
    record_run(tmp_path / "t.loopdb", model(GROWS), {"M": 2, "v0": v0})[0].close()
    for name in ("t.parquet", "t.safetensors"):
        assert run_cli(capsys, "export", tmp_path / "t.loopdb", tmp_path / name).status == 0
    column = parquet.read_table(tmp_path / "t.parquet")["x"].to_pylist()
    assert column == [np.tile(v0, k).tolist() for k in (1, 2, 3)]
    result = tensors.load_file(tmp_path / "t.safetensors")
    assert (result["x@2"] == np.tile(v0, 3)).all() and result["@iteration"].tolist() == [0, 1, 2]


def test_inputs_and_outputs_of_a_trace(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = trace.with_name("data")
    assert run_cli(capsys, "export", trace, f"{folder}/").status == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        *("input_0.pb", "input_1.pb", "output_0.pb", "output_1.pb")
    ]
    ran = run_cli(capsys, "run", save_text_model(trace.parent, NESTED), "--inputs", folder, "--expect", folder)
    assert ran.status == 0 and "all 2 outputs are as in" in ran.err


def test_invalid_exports_are_refused(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "export needs one file" in run_cli(capsys, "export", trace).error_line
    assert "export needs one file" in run_cli(capsys, "export", trace, "a.npz", "-o", "b.npz").error_line
    (trace.parent / "there.parquet").write_text("mine")
    ran = run_cli(capsys, "export", trace, trace.parent / "there.parquet")
    assert "is there already, and is no .parquet" in ran.error_line
    assert (trace.parent / "there.parquet").read_text() == "mine"


@pytest.mark.parametrize("ending", [name for name, form in EXPORT_FORMATS.items() if form.traces])
def test_every_format_overwrites_itself(ending: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    target = f"{trace.parent / 'again'}{ending}"
    assert [run_cli(capsys, "export", trace, target).status for _ in range(2)] == [0, 0]


def test_large_trace_is_written_in_chunks(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    whole, pieces = trace.with_name("a.parquet"), trace.with_name("b.parquet")
    run_cli(capsys, "export", trace, whole)
    monkeypatch.setattr("loopdbg.debugger.trace.export_formats._ROW_GROUP_ROWS", 2)
    run_cli(capsys, "export", trace, pieces)
    assert parquet.ParquetFile(pieces).num_row_groups == 7 and parquet.ParquetFile(whole).num_row_groups == 1
    assert parquet.read_table(pieces).equals(parquet.read_table(whole))
