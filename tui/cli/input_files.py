"""Inputs out of files: ``.npy``, ``.npz``, and folders of ONNX test data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...debugger.reference.array_files import as_declared, entry_of, opened_arrays, read_folder, read_outputs
from ...runtime.errors import InputError
from ...runtime.graph import Array, OptionalType, SequenceType, TensorType, ValueType
from ...runtime.model import Data, Port

__all__ = ["read_folder", "read_npy", "read_npz", "read_outputs"]


def read_npy(path: Path, declared: TensorType) -> Array:
    """The array of an ``.npy`` file.

    Raises:
        InputError: it cannot be read, or holds more than one array, or pickled objects.
    """
    with opened_arrays(path) as loaded:
        if not isinstance(loaded, np.ndarray):
            raise InputError(f"{path}: holds several arrays; give it as --inputs {path}")
        return as_declared(loaded, declared)


def read_npz(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """Everything that an ``.npz`` file holds, by name. A sequence NAME stands there as NAME.0, NAME.1, ...

    Raises:
        InputError: the file or a needed entry of it cannot be read, or is pickled.
    """
    with opened_arrays(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path}: holds one array without a name; give it as --input NAME={path}")
        types = {name: port.type for port in ports for name in (port.name, *port.aliases)}
        found: dict[str, Data] = {}
        elements: dict[str, dict[int, Data]] = {}
        for entry in archive.files:
            name, _, number = entry.rpartition(".")
            if entry in types or not (isinstance(_inner(types.get(name)), SequenceType) and number.isdigit()):
                # What the model does not ask for may be anything, and is only named.
                found[entry] = entry_of(path, archive, entry, types[entry]) if entry in types else None
            else:
                elements.setdefault(name, {})[int(number)] = entry_of(path, archive, entry, types[name])
        for name, parts in elements.items():
            found[name] = [parts[number] for number in sorted(parts)]
        return found


def _inner(declared: ValueType | None) -> ValueType | None:
    return declared.element if isinstance(declared, OptionalType) else declared
