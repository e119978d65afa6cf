"""Sets of cases in files: folders of ``.npz``, ONNX test data, one ``.npz`` of many cases, Parquet and Arrow."""

from __future__ import annotations

import glob
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import scratch_folder, write_bytes
from ...runtime.errors import InputError, UsageError
from ...runtime.graph import ANY_TYPE, Array
from ...runtime.input_validation import Data, resolve_aliases
from ...runtime.model import Model
from ...runtime.text import did_you_mean
from ..reference.array_files import (
    open_arrays,
    read_archive_array,
    read_npz,
    read_test_inputs,
    read_test_outputs,
    view_as_declared,
)
from .cases import Case, CaseReader, CaseSet, InMemoryCases, fingerprint_of

_TABLE_SUFFIXES = (".parquet", ".arrow")


def open_case_set(text: str | os.PathLike[str], batched: bool = False) -> CaseSet:
    """Open the set of cases at a path or a pattern.

    Supported are a folder or a pattern of ``.npz`` files, of folders of test data (``test_data_set_*``) or of tables
    (``.parquet``, ``.arrow``); a single such file; ``batched``: one ``.npz`` whose arrays have a leading axis of cases.

    Raises:
        InputError: no such files, or they cannot be read.
        UsageError: ``batched`` for anything but one ``.npz`` file; pyarrow is not installed.
    """
    text = os.fspath(text)
    paths = _find_case_paths(text)
    if batched:
        if len(paths) != 1 or paths[0].suffix != ".npz":
            raise UsageError(f"{text}: batched cases are in one .npz file, with the cases on the first axis")
        return BatchedCases(paths[0])
    tables = [path for path in paths if path.suffix in _TABLE_SUFFIXES]
    if tables:
        from .table_cases import TableCases

        return TableCases(tables, _case_set_name(text))
    folders = [path for path in paths if path.is_dir()]
    return TestDataCases(folders, _case_set_name(text)) if folders else NpzCases(paths, _case_set_name(text))


def _find_case_paths(text: str) -> list[Path]:
    """The files or folders with cases, in natural order of their names."""
    path = Path(text)
    if path.is_dir():
        paths = _paths_in_folder(path)
    elif path.exists():
        paths = [path]
    elif glob.has_magic(text):
        paths = [Path(candidate) for candidate in glob.glob(text, recursive=True)]
    else:
        raise InputError(f"{text}: no such file or folder; give .npz files, test data, or a table of cases", name=text)
    paths = [candidate for candidate in paths if candidate.is_dir() or candidate.suffix in (".npz", *_TABLE_SUFFIXES)]
    if not paths:
        raise InputError(
            f"{text}: holds no cases; they are .npz files, test_data_set_* folders, .parquet or .arrow", name=text
        )
    return sorted(paths, key=natural_sort_key)


def _paths_in_folder(path: Path) -> list[Path]:
    if (path / "input_0.pb").exists():
        return [path]
    for pattern in ("*.npz", "test_data_set_*", "*.parquet", "*.arrow", "*/*.parquet", "*/*.arrow"):
        paths = list(path.glob(pattern))
        if paths:
            return paths
    return []


def natural_sort_key(path: Path) -> list[tuple[int, int | str]]:
    """Sorts paths by their text, and numbers in it by their value."""
    parts = re.split(r"(\d+)", str(path))
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]


def _case_set_name(text: str) -> str:
    """The name of a set: the last part of its path that is no pattern."""
    parts = [part for part in Path(text).parts if not glob.has_magic(part) and part not in ("/", ".", "..")]
    return Path(parts[-1]).stem if parts else "cases"


class FileCases(CaseSet):
    """One case per file or folder, named by the part of its path that differs."""

    def __init__(self, paths: Sequence[Path], name: str) -> None:
        self.name = name
        self.paths = [path.absolute() for path in paths]
        folder = os.path.commonpath([str(path.parent) for path in self.paths])
        self._names = [os.path.relpath(path, folder).removesuffix(".npz") for path in self.paths]
        self.fingerprint = fingerprint_of(self._names)

    def __len__(self) -> int:
        return len(self.paths)

    def name_of(self, number: int) -> str:
        return self._names[number]

    def path_of(self, number: int) -> Path | None:
        return self.paths[number]

    def find(self, name: str) -> int:
        for number, existing in enumerate(self._names):
            if name == existing or name.endswith(f"/{existing}"):
                return number
        hint = did_you_mean(name, self._names) or f"; the first is '{self._names[0]}'"
        raise UsageError(f"{self.name} has no case '{name}'{hint}", name=name)


class NpzCases(FileCases):
    """One case per ``.npz`` file, with the inputs by name."""

    def reader(self, model: Model) -> CaseReader:
        names = {port.name for port in model.inputs}

        def read(number: int) -> Case:
            values = resolve_aliases(model.graph, read_npz(self.paths[number], model.inputs))
            return Case({name: value for name, value in values.items() if name in names})

        return read

    def subset(self, start: int, stop: int) -> CaseSet:
        return _ShippedCases(self, start, stop)


class TestDataCases(FileCases):
    """One case per folder of ONNX test data, with the expected outputs."""

    __test__ = False

    def reader(self, model: Model) -> CaseReader:
        def read(number: int) -> Case:
            path = self.paths[number]
            return Case(read_test_inputs(path, model.inputs), expected=read_test_outputs(path, model.outputs))

        return read

    def subset(self, start: int, stop: int) -> CaseSet:
        return _ShippedCases(self, start, stop)


class _ShippedCases(CaseSet):
    """Cases with the bytes of their files, which are written to disk before reading."""

    def __init__(self, source: FileCases, start: int, stop: int) -> None:
        self.name, self.fingerprint = source.name, source.fingerprint
        self._source = source
        self._start = start
        self._contents = [_read_files(path) for path in source.paths[start:stop]]

    def __len__(self) -> int:
        return len(self._source)

    def name_of(self, number: int) -> str:
        return self._source.name_of(number)

    def reader(self, model: Model) -> CaseReader:
        def read(number: int) -> Case:
            contents = self._contents[number - self._start]
            with scratch_folder() as folder:
                for name, data in contents.items():
                    write_bytes(folder / name, data)
                single = folder / next(iter(contents))
                path = single if self._source.paths[number].suffix == ".npz" else folder
                return type(self._source)([path], self.name).reader(model)(0)

        return read


def _read_files(path: Path) -> dict[str, bytes]:
    files = sorted(path.glob("*.pb")) if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files}


class BatchedCases(CaseSet):
    """One ``.npz`` file: every array has a leading axis of cases."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.name = path.stem
        lengths = _first_axis_lengths(path)
        if len(set(lengths.values())) != 1 or None in lengths.values():
            sizes = ", ".join(f"'{name}' {'none' if n is None else n}" for name, n in lengths.items()) or "none"
            raise InputError(
                f"{path}: all arrays need one first axis, that of the cases; they have {sizes}",
                name=str(path),
                got=sizes,
            )
        self._count = next(iter(lengths.values())) or 0
        self.fingerprint = fingerprint_of((self.name, self._count, path.stat().st_size))

    def __len__(self) -> int:
        return self._count

    def arrays(self, model: Model) -> dict[str, Array]:
        """Return the arrays for the model's inputs.

        Raises:
            InputError: the file cannot be read.
        """
        ports = {port.name: port for port in model.inputs}
        with open_arrays(self.path) as archive:
            names_found = resolve_aliases(model.graph, dict.fromkeys(archive.files))
            names = dict(zip(names_found, archive.files, strict=True))
            return {
                name: view_as_declared(
                    read_archive_array(self.path, archive, names[name], ports[name].type), ports[name].type
                )
                for name in names
                if name in ports
            }

    def reader(self, model: Model) -> CaseReader:
        arrays = self.arrays(model)

        def read(number: int) -> Case:
            # The ellipsis makes even one element an array.
            return Case({name: array[number, ...] for name, array in arrays.items()})

        return read

    def subset(self, start: int, stop: int) -> CaseSet:
        with open_arrays(self.path) as archive:
            arrays = {name: archive[name][start:stop] for name in archive.files}
        items: list[Mapping[str, Data]] = [
            {name: array[k, ...] for name, array in arrays.items()} for k in range(stop - start)
        ]
        return InMemoryCases(items, self.name, start, self._count)


def _first_axis_lengths(path: Path) -> dict[str, int | None]:
    """The sizes of the first axes of the arrays in an archive, from their headers."""
    with open_arrays(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path}: holds one array without a name; save arrays by name with np.savez")
        return {name: _first_axis_length(path, archive, name) for name in archive.files}


def _first_axis_length(path: Path, archive: Any, name: str) -> int | None:
    try:
        with archive.zip.open(f"{name}.npy") as file:
            major, _ = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
            shape = read(file)[0]
    except (ValueError, KeyError, OSError, zipfile.BadZipFile):
        shape = read_archive_array(path, archive, name, ANY_TYPE).shape
    return shape[0] if shape else None
