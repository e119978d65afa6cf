"""Slices with NumPy's semantics, and the table in which one is shown."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_fields import raises_error
from loopdbg.debugger.statistics.element_search import find_next, is_not_finite
from loopdbg.debugger.statistics.element_search import parse_predicate as meant
from loopdbg.debugger.statistics.number_format import NumberFormat, format_element
from loopdbg.debugger.statistics.tensor_export import numpy_text, save_npy
from loopdbg.debugger.statistics.tensor_slice import TensorSlice
from loopdbg.debugger.statistics.tensor_statistics import TensorRef
from loopdbg.debugger.value_text import scalar_text
from loopdbg.runtime.errors import UsageError

CUBE = np.arange(2 * 3 * 5).reshape(2, 3, 5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "...",
        "0",
        "-1",
        "0, :, 3",
        "..., 1",
        "1, ..., ::2",
        ":, 1:, -2:",
        "::-1",
        "0, ::-2, 4",
        "[1, 2]",
        "5:2",
    ],
)
def test_slice_equals_numpy(text: str) -> None:
    part = TensorSlice.parse(f"h[{text}]" if not text.startswith("[") else text, CUBE.shape)
    inner = text.strip("[]")
    expected = eval(f"cube[{inner or '...'}]", {"cube": CUBE})
    assert part.shape == np.shape(expected)
    assert np.array_equal(part.read(TensorRef.from_array(CUBE)), expected)
    again = TensorSlice.parse(part.text(CUBE.shape), CUBE.shape)
    assert again.shape == part.shape and np.array_equal(again.read(TensorRef.from_array(CUBE)), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2", "index 2 is out of range: axis 0 has 2 elements"),
        ("0,0,0,0", "4 indices for 3 axes"),
        ("..., ...", "one '...'"),
        ("x", "'x' is no index"),
        ("1:2:3:4", "no index"),
        ("::0", "step"),
        ("h[0", "no slice"),
        ("1,,2", "'' is no index"),
    ],
)
def test_invalid_slice_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace(".", r"\.")):
        TensorSlice.parse(text, CUBE.shape)


@given(st.integers(0, 5), st.integers(0, 4))
def test_table_position_is_a_tensor_position(row: int, column: int) -> None:
    part = TensorSlice.parse(":, ::-1, :", CUBE.shape)
    place = part.tensor_index(row, column)
    assert part.table_cell(place) == (row, column)
    assert (
        part.read_window(TensorRef.from_array(CUBE), range(row, row + 1), range(column, column + 1))[0][0]
        == CUBE[place]
    )
    assert TensorSlice.parse("0, ::2", CUBE.shape).table_cell((1, 0, 0)) is None
    assert TensorSlice.parse("0, ::2", CUBE.shape).table_cell((0, 1, 0)) is None


def test_scalar_and_empty_tensor_have_a_table() -> None:
    scalar = TensorSlice.full(())
    assert (scalar.rows, scalar.columns, scalar.size) == (1, 1, 1)
    assert scalar.tensor_index(0, 0) == () and scalar.table_cell(()) == (0, 0)
    assert scalar.read_window(TensorRef.from_array(np.array(7)), range(1), range(1))[0].tolist() == [7]
    assert TensorSlice.full((0, 3)).size == 0


def test_non_contiguous_tensor_is_read_in_order() -> None:
    turned = TensorRef.from_array(CUBE.T)
    assert np.array_equal(turned.copy_range(3, 9), CUBE.T.reshape(-1)[3:9])
    assert np.array_equal(np.asarray(turned), CUBE.T) and turned[4, 2, 1] == CUBE[1, 2, 4]


@pytest.mark.parametrize(
    ("text", "place"),
    [("nan", 4), ("inf", 2), ("0.1", 1), ("1e-1", 1), ("> 0.5", 2), ("<0", 3), ("-3", 3), ("!= 0", 1), ("7", None)],
)
def test_values_are_found_as_typed(text: str, place: int | None) -> None:
    array = np.array([0, 0.1, np.inf, -3, np.nan], np.float32)
    assert find_next(TensorRef.from_array(array), meant(text, array.dtype), 0) == place


def test_search_wraps_around() -> None:
    array = np.zeros(200_000, np.float32)
    array[[5, 150_000]] = np.nan
    ref = TensorRef.from_array(array)
    assert find_next(ref, is_not_finite, 5) == 150_000
    assert find_next(ref, is_not_finite, 150_000) == 5
    assert find_next(ref, is_not_finite, -1) == 5
    assert find_next(ref, is_not_finite, 5, lambda: False) is None
    assert find_next(TensorRef.from_array(np.zeros(3, np.int32)), is_not_finite, 0) is None
    words = np.array(["a", "b"], object)
    assert find_next(TensorRef.from_array(words), meant("'b'", words.dtype), 0) == 1
    flags = np.array([True, False])
    assert find_next(TensorRef.from_array(flags), meant("false", flags.dtype), 0) == 1


@pytest.mark.parametrize("text", ["", "abc", "> x"])
def test_unsearchable_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no number|nothing"):
        meant(text, np.dtype(np.float32))


@pytest.mark.parametrize(
    ("value", "how", "text"),
    [
        (np.float32(0.12345678), NumberFormat.SHORT, "0.1235"),
        (np.float32(-12.5), NumberFormat.SHORT, "-12.500"),
        (np.float32(1e-9), NumberFormat.SHORT, "1.000e-09"),
        (np.float64(1 / 3), NumberFormat.LONG, "0.33333333"),
        (np.float32(0.1), NumberFormat.FULL, "0.1"),
        (np.float32(0.1), NumberFormat.BITS, "0x3dcccccd"),
        (np.float32(0.1), NumberFormat.EXPONENT, "1.000e-01"),
        (np.float32(-0.0), NumberFormat.SHORT, "-0.0"),
        (np.float32("nan"), NumberFormat.SHORT, "nan"),
        (np.int64(12), NumberFormat.SHORT, "12"),
        (np.int64(12), NumberFormat.EXPONENT, "1.200e+01"),
        (np.int8(-1), NumberFormat.BITS, "0xff"),
        (np.bool_(True), NumberFormat.SHORT, "true"),
        (np.complex64(1 - 2j), NumberFormat.SHORT, "1.0000-2.0000j"),
        (ml_dtypes.bfloat16(1.5), NumberFormat.SHORT, "1.5000"),
        (ml_dtypes.bfloat16(1.0), NumberFormat.BITS, "0x3f80"),
        ("a", NumberFormat.SHORT, '"a"'),
    ],
)
def test_cell_text(value: object, how: NumberFormat, text: str) -> None:
    assert format_element(value, how, scalar_text(value)) == text


def test_formats_cycle() -> None:
    how = NumberFormat.SHORT
    seen = [how := how.next_format for _ in NumberFormat]
    assert seen[-1] is NumberFormat.SHORT and len(set(seen)) == len(NumberFormat)


@settings(deadline=None)
@given(st.sampled_from((np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_, np.complex64)), st.data())
def test_numpy_text_round_trip(dtype: type, data: st.DataObject) -> None:
    from hypothesis.extra import numpy as hnp

    array = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
    back = eval(numpy_text(array), {"np": np})
    assert back.dtype == array.dtype and back.shape == array.shape
    assert np.array_equal(back, array, equal_nan=array.dtype.kind in "fc")


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e5m2])
def test_numpy_text_round_trip_of_low_bit_types(dtype: type) -> None:
    array = np.array([[1, -2], [3, 0]], dtype)
    back = eval(numpy_text(array), {"np": np, "ml_dtypes": ml_dtypes})
    assert back.dtype == array.dtype and (back == array).all()


def test_numpy_text_of_strings_round_trips_and_large_tensors_are_refused() -> None:
    words = np.array([["a", 'b"'], ["", "ü"]], object)
    assert (eval(numpy_text(words), {"np": np}) == words).all()
    with raises_error(UsageError, expected="at most 10000 elements", got="100000"):
        numpy_text(np.zeros(100_000))


@pytest.mark.parametrize("array", [CUBE, CUBE.T, np.array(3.5), np.zeros((0, 2)), np.zeros(2_000_000, np.float32)])
def test_slice_is_written_to_files(tmp_path, array) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "h.npy"
    save_npy(path, TensorRef.from_array(array))
    back = np.load(path)
    assert back.dtype == array.dtype and np.array_equal(back, array)
    with raises_error(UsageError, name=path, expected="a new file"):
        save_npy(path, TensorRef.from_array(array))
    with raises_error(UsageError, name=tmp_path / "h.txt", expected=".npy"):
        save_npy(tmp_path / "h.txt", TensorRef.from_array(array))
    with raises_error(UsageError, name=tmp_path / "no" / "h.npy", got="No such file or directory"):
        save_npy(tmp_path / "no" / "h.npy", TensorRef.from_array(array))


def test_file_types(tmp_path) -> None:  # type: ignore[no-untyped-def]
    save_npy(tmp_path / "s.npy", TensorRef.from_array(np.array(["a", "bc"], object)))
    assert np.load(tmp_path / "s.npy").tolist() == ["a", "bc"]
    half = np.array([1, 2], ml_dtypes.bfloat16)
    save_npy(tmp_path / "b.npy", TensorRef.from_array(half))
    assert np.load(tmp_path / "b.npy").view(ml_dtypes.bfloat16).tolist() == half.tolist()
