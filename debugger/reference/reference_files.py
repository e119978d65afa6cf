"""References in files: ``.npz`` files, read and written, and folders of ONNX test data.

In any ``.npz`` file an array is a value by its name, or one iteration of it as ``name/3``, in nested loops
``name/2/3``. Whether the leading axes of an array count iterations is decided when its model value is known. Files that
loopdbg writes have one more entry, :data:`HEADER`, with that fact and the other fields of a track, as JSON.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_binary
from ...runtime.dtypes import dtype_from_name as dtype_of
from ...runtime.dtypes import npy_storage_dtype
from ...runtime.errors import InputError, UnsupportedError, file_error, one_line
from ...runtime.graph import Array
from ...runtime.input_validation import Data
from ...runtime.model import Port
from ...runtime.safe_file_reading import open_regular_file
from .array_files import read_arrays, read_test_inputs, read_test_outputs
from .reference import Key, Reference, Track

#: The entry of an ``.npz`` file that describes the others.
HEADER = "loopdbg.reference"
_VERSION = 1
_TEXT_FIELDS = ("loop", "maker", "node", "source", "role")
#: Names that no entry of an archive can have.
_INVALID_NAME_CHARS = re.compile(r"[\0\ud800-\udfff]")
_MAX_NAME_CHARS = 200
_ITERATION_NAME = re.compile(r"(?P<name>.+?)(?P<key>(?:/\d{1,9})+)")


def is_reference(path: str | os.PathLike[str]) -> bool:
    """Return True for an ``.npz`` file, and for a folder with outputs of ONNX test data."""
    if os.path.isdir(path):
        return any(Path(path).glob("output_*.pb"))
    try:
        with open_regular_file(path) as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return Path(path).suffix.lower() == ".npz" and os.path.isfile(path)
    return bool(names) and all(name.endswith(".npy") for name in names)


def read_reference(path: str | os.PathLike[str], inputs: Sequence[Port], outputs: Sequence[Port]) -> Reference:
    """Return the reference in a file or a folder; a folder has values by the position of inputs and outputs.

    Raises:
        InputError: it cannot be read, or belongs to another model.
    """
    path = Path(path)
    if not path.is_dir():
        return read_reference_file(path)
    feeds = read_test_inputs(path, inputs) if any(path.glob("input_*.pb")) else None
    data = read_test_outputs(path, outputs)
    return Reference(path.name, [Track(name, {(): value}, role="output") for name, value in data.items()], feeds)


def read_reference_file(path: Path) -> Reference:
    """Return the reference in an ``.npz`` file.

    Raises:
        InputError: it cannot be read, or its header is broken.
    """
    arrays = read_arrays(path)
    header = arrays.pop(HEADER, None)
    if header is None:
        return reference_from_arrays(path.name, arrays)
    try:
        meta = json.loads(str(header))
        if meta["version"] != _VERSION:
            raise ValueError(f"version {meta['version']}, and known is {_VERSION}")
        tracks = [_read_track(item, arrays) for item in meta["tracks"]]
        inputs = {item["name"]: _read_value(item["value"], arrays) for item in meta["inputs"]}
        trips = {loop: {tuple(entry): int(count) for entry, count in counts} for loop, counts in meta["trips"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnsupportedError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else one_line(error)
        raise InputError(
            f"{path}: its entry '{HEADER}' is broken: {reason}; record the reference again", name=HEADER, got=reason
        ) from None
    return Reference(path.name, tracks, inputs or None, trips)


def reference_from_arrays(label: str, arrays: Mapping[str, Data]) -> Reference:
    """Return a reference of values by name, without further information."""
    return Reference(label, list(_tracks_from_arrays(arrays)))


def _tracks_from_arrays(arrays: Mapping[str, Data]) -> Iterator[Track]:
    by_iteration: dict[tuple[str, int], dict[Key, Data]] = {}
    for entry, array in arrays.items():
        match = _ITERATION_NAME.fullmatch(entry)
        if match is None:
            yield Track(entry, {(): array})
        else:
            key = tuple(int(number) for number in match["key"].split("/")[1:])
            by_iteration.setdefault((match["name"], len(key)), {})[key] = array
    yield from (Track(name, dict(sorted(values.items()))) for (name, _), values in by_iteration.items())


def _read_track(entry: Mapping[str, Any], arrays: Mapping[str, Array]) -> Track:
    values: dict[Key, Data] = {}
    if "rows" in entry:
        depth, rows = int(entry["depth"]), _read_value(entry["rows"], arrays)
        values = {tuple(map(int, key)): np.asarray(rows[key]) for key in np.ndindex(rows.shape[:depth])}
    for key, value in entry.get("values", ()):
        values[tuple(map(int, key))] = _read_value(value, arrays)
    loop, maker, node, source, role = (str(entry.get(field, "")) for field in _TEXT_FIELDS)
    return Track(str(entry["name"]), values, loop, maker, node, source, role, bool(entry.get("optional")))


def _read_value(entry: Any, arrays: Mapping[str, Array]) -> Data:
    """A value described by the header: None, a list of values, or an array by its entry and dtype."""
    if entry is None:
        return None
    if isinstance(entry, list):
        return [_read_value(item, arrays) for item in entry]
    array, dtype = arrays[entry["entry"]], entry["dtype"]
    if dtype == "string":
        return array.astype(object)
    kind = dtype_of(dtype)
    return array if array.dtype == kind else array.view(kind)


class _ReferenceFileWriter:
    """The entries of a file and their description in the header."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def add_track(self, track: Track) -> dict[str, Any]:
        fields = {name: getattr(track, name) for name in (*_TEXT_FIELDS, "optional")}
        entry: dict[str, Any] = {"name": track.name, **{name: value for name, value in fields.items() if value}}
        depth = len(next(iter(track.values), ()))
        rows = _stack_iterations(track.values, depth) if depth else None
        if rows is not None:
            return entry | {"depth": depth, "rows": self.add_value(track.name, rows)}
        names = ((key, "/".join([track.name, *map(str, key)])) for key in track.values)
        return entry | {"values": [[list(key), self.add_value(name, track.values[key])] for key, name in names]}

    def add_value(self, name: str, value: Data) -> Any:
        if value is None:
            return None
        if isinstance(value, list | tuple):
            return [self.add_value(f"{name}.{k}", item) for k, item in enumerate(value)]
        array = np.asarray(value)
        text = array.dtype.kind in "OUST"
        entry = self._unused_entry(name)
        self.arrays[entry] = array.astype(str) if text else array.view(npy_storage_dtype(array.dtype))
        return {"entry": entry, "dtype": "string" if text else array.dtype.name}

    def _unused_entry(self, name: str) -> str:
        name = _INVALID_NAME_CHARS.sub("?", name)[:_MAX_NAME_CHARS]
        entry, k = name, 2
        while entry in self.arrays or entry == HEADER:
            entry, k = f"{name}#{k}", k + 1
        return entry


def _stack_iterations(values: Mapping[Key, Data], depth: int) -> Array | None:
    """Stack arrays of one shape and dtype in consecutive iterations; None for other arrays."""
    if not all(isinstance(value, np.ndarray) and value.dtype != object for value in values.values()):
        return None
    arrays = list(values.values())
    extent = tuple(1 + max(key[k] for key in values) for k in range(depth))
    if len({(array.dtype, array.shape) for array in arrays}) != 1 or len(values) != int(np.prod(extent)):
        return None
    stacked = np.empty((*extent, *arrays[0].shape), arrays[0].dtype)
    for key, array in values.items():
        stacked[key] = array
    return stacked


def write_reference_file(reference: Reference, path: str | os.PathLike[str]) -> None:
    """Write a reference as ``.npz``: each track as an array with leading iteration axes if all have one shape, else
    iteration by iteration.

    Raises:
        InputError: the file cannot be written.
    """
    writer = _ReferenceFileWriter()
    header_data = {
        "version": _VERSION,
        "tracks": [writer.add_track(track) for track in reference.tracks],
        "inputs": [
            {"name": name, "value": writer.add_value(name, value)} for name, value in (reference.inputs or {}).items()
        ],
        "trips": {loop: [[list(k), n] for k, n in counts.items()] for loop, counts in reference.trips.items()},
    }
    header = np.array(json.dumps(header_data))
    try:
        with atomic_binary(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in (*writer.arrays.items(), (HEADER, header)):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    except OSError as error:
        raise file_error(InputError, os.fspath(path), "cannot be written", error) from None
