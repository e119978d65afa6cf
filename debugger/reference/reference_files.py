"""References in files: ``.npz`` files, read and written, and folders of ONNX test data.

In any ``.npz`` file an array is a value by its name, or one iteration of it as ``name/3``, in nested loops
``name/2/3``. Whether the leading axes of an array count iterations shows once it is known which value of a model it is.
What we write has one more entry, :data:`HEADER`, which says that, and the rest of a track, as JSON.
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
from ...runtime.errors import InputError, UnsupportedError, one_line
from ...runtime.graph import Array
from ...runtime.input_validation import Data
from ...runtime.model import Port
from ...runtime.stable_file import open_regular_file
from .array_files import read_arrays, read_test_inputs, read_test_outputs
from .reference import Key, Reference, Track

#: The entry of an ``.npz`` file that says what the others are.
HEADER = "loopdbg.reference"
_VERSION = 1
_TEXT_FIELDS = ("loop", "maker", "node", "source", "role")
#: What no entry of an archive can be called.
_INVALID_NAME_CHARS = re.compile(r"[\0\ud800-\udfff]")
_MAX_NAME_CHARS = 200
_ITERATION_NAME = re.compile(r"(?P<name>.+?)(?P<key>(?:/\d{1,9})+)")


def is_reference(path: str | os.PathLike[str]) -> bool:
    """True for an ``.npz`` file, and for a folder with outputs of ONNX test data."""
    if os.path.isdir(path):
        return any(Path(path).glob("output_*.pb"))
    try:
        with open_regular_file(path) as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return Path(path).suffix.lower() == ".npz" and os.path.isfile(path)
    return bool(names) and all(name.endswith(".npy") for name in names)


def read_reference(path: str | os.PathLike[str], inputs: Sequence[Port], outputs: Sequence[Port]) -> Reference:
    """The reference that a file or a folder holds; a folder has it by the position of a model's inputs and outputs.

    Raises:
        InputError: it cannot be read, or belongs to another model.
    """
    path = Path(path)
    if not path.is_dir():
        return read_reference_file(path)
    given = read_test_inputs(path, inputs) if any(path.glob("input_*.pb")) else None
    found = read_test_outputs(path, outputs)
    return Reference(path.name, [Track(name, {(): value}, role="output") for name, value in found.items()], given)


def read_reference_file(path: Path) -> Reference:
    """The reference that an ``.npz`` file holds.

    Raises:
        InputError: it cannot be read, or its header is broken.
    """
    arrays = read_arrays(path)
    header = arrays.pop(HEADER, None)
    if header is None:
        return reference_from_arrays(path.name, arrays)
    try:
        told = json.loads(str(header))
        if told["version"] != _VERSION:
            raise ValueError(f"version {told['version']}, and known is {_VERSION}")
        tracks = [_read_track(one, arrays) for one in told["tracks"]]
        given = {one["name"]: _read_value(one["value"], arrays) for one in told["inputs"]}
        trips = {loop: {tuple(entry): int(count) for entry, count in counts} for loop, counts in told["trips"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnsupportedError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else one_line(error)
        raise InputError(f"{path}: its entry '{HEADER}' is broken: {what}; record the reference again") from None
    return Reference(path.name, tracks, given or None, trips)


def reference_from_arrays(label: str, arrays: Mapping[str, Data]) -> Reference:
    """A reference of values by name, as a file has them that says no more of them."""
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


def _read_track(told: Mapping[str, Any], arrays: Mapping[str, Array]) -> Track:
    values: dict[Key, Data] = {}
    if "rows" in told:
        depth, whole = int(told["depth"]), _read_value(told["rows"], arrays)
        values = {tuple(map(int, key)): np.asarray(whole[key]) for key in np.ndindex(whole.shape[:depth])}
    for key, value in told.get("values", ()):
        values[tuple(map(int, key))] = _read_value(value, arrays)
    loop, maker, node, source, role = (str(told.get(field, "")) for field in _TEXT_FIELDS)
    return Track(str(told["name"]), values, loop, maker, node, source, role, bool(told.get("optional")))


def _read_value(told: Any, arrays: Mapping[str, Array]) -> Data:
    """What the header says a value is: nothing, a list of values, or an array by its entry and dtype."""
    if told is None:
        return None
    if isinstance(told, list):
        return [_read_value(one, arrays) for one in told]
    array, wanted = arrays[told["entry"]], told["dtype"]
    if wanted == "string":
        return array.astype(object)
    kind = dtype_of(wanted)
    return array if array.dtype == kind else array.view(kind)


class _ReferenceFileWriter:
    """The entries of a file, and what the header says of them."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def add_track(self, track: Track) -> dict[str, Any]:
        fields = {name: getattr(track, name) for name in (*_TEXT_FIELDS, "optional")}
        told: dict[str, Any] = {"name": track.name, **{name: value for name, value in fields.items() if value}}
        depth = len(next(iter(track.values), ()))
        rows = _stack_iterations(track.values, depth) if depth else None
        if rows is not None:
            return told | {"depth": depth, "rows": self.add_value(track.name, rows)}
        named = ((key, "/".join([track.name, *map(str, key)])) for key in track.values)
        return told | {"values": [[list(key), self.add_value(name, track.values[key])] for key, name in named]}

    def add_value(self, name: str, value: Data) -> Any:
        if value is None:
            return None
        if isinstance(value, list | tuple):
            return [self.add_value(f"{name}.{k}", one) for k, one in enumerate(value)]
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
    """Arrays of one shape and dtype in iterations that leave no gap as one array; None where they are not."""
    if not all(isinstance(value, np.ndarray) and value.dtype != object for value in values.values()):
        return None
    arrays = list(values.values())
    extent = tuple(1 + max(key[k] for key in values) for k in range(depth))
    if len({(one.dtype, one.shape) for one in arrays}) != 1 or len(values) != int(np.prod(extent)):
        return None
    stacked = np.empty((*extent, *arrays[0].shape), arrays[0].dtype)
    for key, array in values.items():
        stacked[key] = array
    return stacked


def write_reference_file(reference: Reference, path: str | os.PathLike[str]) -> None:
    """Write a reference as ``.npz``, each track as an array with its iterations as the leading axes where they have one
    shape, else iteration by iteration.

    Raises:
        InputError: the file cannot be written.
    """
    writer = _ReferenceFileWriter()
    told = {
        "version": _VERSION,
        "tracks": [writer.add_track(track) for track in reference.tracks],
        "inputs": [
            {"name": name, "value": writer.add_value(name, value)} for name, value in (reference.inputs or {}).items()
        ],
        "trips": {loop: [[list(k), n] for k, n in counts.items()] for loop, counts in reference.trips.items()},
    }
    header = np.array(json.dumps(told))
    try:
        with atomic_binary(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in (*writer.arrays.items(), (HEADER, header)):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be written: {error.strerror or one_line(error)}") from None
