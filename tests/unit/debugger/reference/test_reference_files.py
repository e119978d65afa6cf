"""Reference files: written files are read back, third-party files are read, and broken files are reported."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.reference.reference import Reference, Track
from loopdbg.debugger.reference.reference_files import (
    HEADER,
    is_reference,
    read_reference,
    read_reference_file,
    write_reference_file,
)
from text_models import SUM, model


def write_and_read(path: Path, reference: Reference) -> Reference:
    write_reference_file(reference, path)
    return read_reference_file(path)


def test_track_round_trip(tmp_path: Path) -> None:
    track = Track(
        "h", {(k,): np.full(2, k, np.float32) for k in range(3)}, "l", "aten.mul", "mul_2", "m.py:87", "result", True
    )
    read = write_and_read(tmp_path / "ref.npz", Reference("x", [track], {"a": np.float32(2)}, {"l": {(): 3}}))
    (result,) = read.tracks
    fields = ("name", "loop", "maker", "node", "source", "role", "optional")
    assert [getattr(result, field) for field in fields] == [getattr(track, field) for field in fields]
    assert {key: data.tolist() for key, data in result.values.items()} == {(0,): [0, 0], (1,): [1, 1], (2,): [2, 2]}
    assert read.inputs == {"a": np.float32(2)} and read.trips == {"l": {(): 3}} and read.label == "ref.npz"
    # Plain NumPy can read it, too.
    with np.load(tmp_path / "ref.npz") as file:
        assert file["h"].tolist() == [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(
    "values",
    [
        {(0,): np.zeros(1, np.float32), (1,): np.zeros(2, np.float32)},  # grows
        {(2,): np.float32(1), (3,): np.float32(2)},  # from iteration 2 on
        {(0, 0): np.int64(1), (1, 0): np.int64(2), (1, 1): np.int64(3)},  # entries of two lengths
        {(0,): [np.ones(2), np.zeros(1)], (1,): []},  # sequences
        {(0,): None, (1,): np.float32(1)},  # an optional
        {(0,): np.array(["a", "bc"], object)},
        {(0,): np.array([1, 2], ml_dtypes.bfloat16), (1,): np.array([3, 4], ml_dtypes.bfloat16)},
        {(0,): np.array([1, 2], ml_dtypes.float8_e5m2)},
        {(): np.array(True)},
        {(0,): np.float32(np.nan), (1,): np.float32(np.inf)},
        {(0,): np.zeros((0, 3), np.int32)},
    ],
)
def test_values_of_any_kind_round_trip(values: dict[tuple[int, ...], Any], tmp_path: Path) -> None:
    (result,) = write_and_read(tmp_path / "ref.npz", Reference("x", [Track("v", values)])).tracks
    assert result.values.keys() == values.keys()
    for key, data in values.items():
        assert_equal_tracks(result.values[key], data)


def assert_equal_tracks(item: Any, other: Any) -> None:
    if isinstance(other, list):
        assert isinstance(item, list) and len(item) == len(other)
        for a, b in zip(item, other, strict=True):
            assert_equal_tracks(a, b)
    elif other is None:
        assert item is None
    else:
        assert item.dtype == other.dtype and item.shape == np.shape(other)
        assert item.tobytes() == other.tobytes() if item.dtype != object else item.tolist() == other.tolist()


def test_duplicate_names_and_names_unfit_for_an_archive(tmp_path: Path) -> None:
    names = ["h", "h", HEADER, "a/b", "../x", "nul\0", "\ud800", "n" * 300]
    tracks = [Track(name, {(): np.float32(k)}) for k, name in enumerate(names)]
    read = write_and_read(tmp_path / "ref.npz", Reference("x", tracks))
    assert [(track.name, float(track.values[()])) for track in read.tracks] == [(n, k) for k, n in enumerate(names)]


def test_foreign_file(tmp_path: Path) -> None:
    path = tmp_path / "plain.npz"
    np.savez(path, **{"h": np.zeros((3, 2)), "c/0": np.zeros(1), "c/1": np.ones(2), "n/0/1": np.array(5), "/m/y": [1]})
    results = {track.name: track.values for track in read_reference_file(path).tracks}
    assert results.keys() == {"h", "c", "n", "/m/y"} and results["h"].keys() == {()}
    assert results["c"].keys() == {(0,), (1,)} and results["n"].keys() == {(0, 1)}


def test_folder_of_test_data(tmp_path: Path) -> None:
    first = model(SUM)
    for name, array in (("output_0", np.float32(3)), ("output_1", np.zeros(3, np.float32)), ("input_0", np.int64(3))):
        (tmp_path / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(np.asarray(array)).SerializeToString())
    assert is_reference(tmp_path) and not is_reference(tmp_path.parent)
    result = read_reference(tmp_path, first.inputs, first.outputs)
    assert [(track.name, track.role) for track in result.tracks] == [("v", "output"), ("s", "output")]
    assert result.inputs == {"M": np.int64(3)}
    with raises_error(loopdbg.InputError, expected="1 output"):
        read_reference(tmp_path, first.inputs, first.outputs[:1])


def test_reference_is_detected_by_content(tmp_path: Path) -> None:
    np.savez(tmp_path / "ref.npz", x=1)
    (tmp_path / "ref.npz").rename(tmp_path / "ref.anything")
    assert is_reference(tmp_path / "ref.anything")
    with zipfile.ZipFile(tmp_path / "program.pt2", "w") as archive:
        archive.writestr("data.pkl", b"")
    assert not is_reference(tmp_path / "program.pt2")
    (tmp_path / "broken.npz").write_bytes(b"PK\3\4 and no more")
    assert is_reference(tmp_path / "broken.npz") and not is_reference(tmp_path / "missing.npz")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda h: h.update(version=9), "version 9, and known is 1"),
        (lambda h: h.pop("tracks"), "it lacks 'tracks'"),
        (lambda h: h["tracks"][0].pop("name"), "it lacks 'name'"),
        (lambda h: h["tracks"][0]["rows"].update(entry="nothing"), "it lacks 'nothing'"),
        (lambda h: h["tracks"][0]["rows"].update(dtype="float99"), "float99"),
        (lambda h: h["tracks"][0]["rows"].update(dtype="float64"), "is broken"),
        (lambda h: h["tracks"][0].update(rows=None), "is broken"),
        (lambda h: h["tracks"][0].update(depth="many"), "is broken"),
        (lambda h: h.update(trips=[1]), "is broken"),
        (lambda h: h.update(tracks=7), "is broken"),
    ],
)
def test_broken_header_is_reported(spoil: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ref.npz"
    write_reference_file(Reference("x", [Track("h", {(k,): np.zeros(1, np.float32) for k in range(3)})]), path)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays[HEADER]))
    spoil(header)
    np.savez(path, **(arrays | {HEADER: np.array(json.dumps(header))}))
    with pytest.raises(loopdbg.InputError, match=message):
        read_reference_file(path)


@pytest.mark.parametrize("what", ["pickled", "cut", "text", "deep", "none"])
def test_broken_file_is_reported(what: str, tmp_path: Path) -> None:
    path = tmp_path / "ref.npz"
    np.savez(path, x=np.zeros(100))
    whole = path.read_bytes()
    if what == "pickled":
        np.savez(path, x=np.array([{}], object))
    elif what == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif what == "text":
        path.write_text("no archive")
    elif what == "deep":
        np.savez(path, **{HEADER: np.array("[" * 100_000)})
    else:
        path.unlink()
    with pytest.raises(loopdbg.InputError, match=r"ref.npz"):
        read_reference_file(path)
