"""Case sets: their sources, the names of their cases, and that each case provides what was saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.export_formats.onnx_test_data import write_test_data
from loopdbg.debugger.sweep.case_files import open_case_set
from loopdbg.debugger.sweep.cases import CaseSet, InMemoryCases, RandomCases
from loopdbg.tui.cli.model_inputs.gather import gather_inputs
from sweep_cases import NEWTON
from text_models import model as load_text_model

ADDED = load_text_model("g (float[2] x, int64 n) => (float[2] y) { f = Cast<to = 1>(n) y = Add(x, f) }")


def case_values(cases: CaseSet, number: int) -> tuple[list[float], int]:
    inputs = cases.reader(ADDED)(number).inputs
    return inputs["x"].tolist(), int(inputs["n"])


def test_files_are_cases_in_numeric_order_of_their_names(tmp_path: Path) -> None:
    for k in (10, 9, 2):
        np.savez(tmp_path / f"case{k}.npz", x=np.float32([k, 1]), n=np.int64(k))
    cases = open_case_set(tmp_path)
    assert [cases.name_of(k) for k in range(len(cases))] == ["case2", "case9", "case10"]
    assert case_values(cases, 2) == ([10.0, 1.0], 10)
    assert cases.find("case9") == 1 and cases.find("abc/def/case9") == 1
    assert open_case_set(f"{tmp_path}/case?.npz").name_of(1) == "case9"
    with raises_error(loopdbg.UsageError, name="case99"):
        cases.find("case99")


def test_test_data_has_inputs_and_outputs(tmp_path: Path) -> None:
    for k in range(2):
        inputs = [(port.name, port.type, value) for port, value in zip(ADDED.inputs, ([1.0, k], k), strict=True)]
        write_test_data(
            tmp_path / f"test_data_set_{k}", "input", [(n, t, np.asarray(v, t.dtype)) for n, t, v in inputs]
        )
        out = ADDED.outputs[0]
        write_test_data(tmp_path / f"test_data_set_{k}", "output", [(out.name, out.type, np.float32([1 + k, 2 * k]))])
    rows = list(loopdbg.sweep(ADDED, tmp_path))
    assert [(row.case, row.status) for row in rows] == [("test_data_set_0", "ok"), ("test_data_set_1", "ok")]
    write_test_data(tmp_path / "test_data_set_1", "output", [("y", ADDED.outputs[0].type, np.float32([5, 2]))])
    second = list(loopdbg.sweep(ADDED, tmp_path))[1]
    assert second.status is loopdbg.Status.DIFFERS
    assert (
        second.message
        == "output 'y' differs: 1 of 2 elements differ, most at [0]: 2.0 and 5.0, difference 3, relative 0.6"
    )


def test_one_file_holds_many_cases(tmp_path: Path) -> None:
    path = tmp_path / "all.npz"
    np.savez(path, x=np.arange(6, dtype=np.float32).reshape(3, 2), n=np.arange(3))
    cases = open_case_set(path, batched=True)
    assert len(cases) == 3
    assert case_values(cases, 2) == ([4.0, 5.0], 2)
    np.savez(path, x=np.zeros((3, 2), np.float32), n=np.arange(2))
    with raises_error(loopdbg.InputError, got="'x' 3, 'n' 2"):
        open_case_set(path, batched=True)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_table_row_is_a_case(tmp_path: Path, form: str) -> None:
    pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
    import pyarrow.parquet

    x = [[float(k), k + 0.5] for k in range(7)]
    table = pa.table({"x": x, "n": list(range(7)), "label": ["a"] * 7})
    path = tmp_path / f"rows.{form}"
    if form == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=3)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    cases = open_case_set(tmp_path)
    assert len(cases) == 7
    assert [case_values(cases, k) for k in (6, 0, 3)] == [(x[6], 6), (x[0], 0), (x[3], 3)]
    part = cases.subset(3, 5)
    assert case_values(part, 4) == (x[4], 4)


def test_random_case_is_determined_by_its_seed() -> None:
    import argparse

    model = loopdbg.load(NEWTON)
    for number in (2, 3):
        case = RandomCases(10, 40).reader(model)(number)
        assert case.seed == 40 + number
        options = argparse.Namespace(input=[], inputs=None, state=[], seed=case.seed, dim=[])
        assert repr(case.inputs) == repr(gather_inputs(model, options).values)
    assert RandomCases(10, 40).fingerprint == RandomCases(99, 40).fingerprint != RandomCases(10, 41).fingerprint


def test_every_fourth_random_case_is_an_edge_case() -> None:
    """No iteration, a negative trip count, an empty axis, NaN and infinity come up; the other cases have none."""
    m = load_text_model("g (int64 M, float[N] X) => (float[N] y) { y = Loop <body = b (int64 i, bool c, float[N] v) => "
              "(bool d, float[N] w) { d = Identity (c) w = Neg (v) }> (M, , X) }")  # fmt: skip
    read = RandomCases(400).reader(m)
    cases = [read(k).inputs for k in range(400)]
    edges = cases[3::4]
    assert {int(case["M"]) for case in edges} >= {-1, 0, 1, 2}
    assert {case["X"].size for case in edges} >= {0, 1, 2}
    elements = np.concatenate([case["X"] for case in edges])
    assert np.isnan(elements).any() and np.isinf(elements).any() and (elements < 0).any()
    usual = [case for k, case in enumerate(cases) if k % 4 != 3]
    assert all(case["M"] > 0 and case["X"].size == 1 and np.isfinite(case["X"]).all() for case in usual)
    assert {case.inputs["X"].size for case in map(RandomCases(40, 0, ["X:0=5"]).reader(m), range(40))} == {5}


def test_file_slices_carry_their_bytes(tmp_path: Path) -> None:
    for k in range(3):
        np.savez(tmp_path / f"{k}.npz", x=np.float32([k, 1]), n=np.int64(k))
    part = open_case_set(tmp_path).subset(1, 3)
    for file in tmp_path.glob("*.npz"):
        file.unlink()
    assert case_values(part, 2) == ([2.0, 1.0], 2) and part.name_of(2) == "2"


def test_invalid_case_set_is_reported(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    for path, why in ((tmp_path, "holds no cases"), (tmp_path / "no", "no such file or folder")):
        with pytest.raises(loopdbg.InputError, match=why):
            open_case_set(path)
    assert len(InMemoryCases([{}] * 3)) == 3
