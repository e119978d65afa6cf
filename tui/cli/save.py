"""``--output F.npz``: outputs under their names, written so that ``--inputs F.npz`` can read them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...runtime.errors import UsageError, one_line
from ...runtime.graph import Array
from ...runtime.model import Data


def check_target(path: Path) -> None:
    """Find out before a long run whether its outputs can be saved at all.

    Raises:
        UsageError: the path is a folder, or lies in none.
    """
    if path.is_dir():
        raise UsageError(f"--output {path}: is a folder; give a file, such as {path / 'outputs.npz'}")
    if not path.parent.is_dir():
        raise UsageError(f"--output {path}: there is no folder '{path.parent}'")


def save(path: Path, outputs: Mapping[str, Data]) -> list[str]:
    """Write an ``.npz`` of that very name; returns what there is to say about it, one line each.

    The elements of a sequence are saved as NAME.0, NAME.1, ... An empty optional has nothing that could be saved.

    Raises:
        UsageError: the file cannot be written.
    """
    remarks = []
    try:
        # Not np.savez: it appends a suffix, and no output of its could be called "file".
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, value in outputs.items():
                if isinstance(value, list):
                    for k, element in enumerate(value):
                        _write(archive, f"{name}.{k}", element)
                    last = f" to {name}.{len(value) - 1}" if len(value) > 1 else ""
                    saved = f"saved as {name}.0{last}" if value else "is empty and not saved"
                    remarks.append(f"{path}: the sequence '{name}' {saved}")
                elif value is None:
                    remarks.append(f"{path}: '{name}' is an empty optional and not saved")
                else:
                    _write(archive, name, np.asarray(value))
    except OSError as error:
        raise UsageError(f"--output {path}: cannot be written: {error.strerror or one_line(error)}") from None
    return remarks


def _write(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    if array.dtype.hasobject:
        # Strings: as objects they would be pickled.
        array = array.astype(str)
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
