"""Folders that a part is written into: the layout of ONNX's own backend tests, or an IR with its arrays beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...runtime.errors import Remedy, UsageError, one_line
from ..formats.test_data import write_data

__all__ = ["DATA", "MOST_INSIDE", "check_folder", "filled", "write_data", "write_model"]

#: What ONNX's backend tests call the first set of inputs and outputs.
DATA = "test_data_set_0"
#: Constants of more bytes than this stand in a file beside the model: protobuf holds no message of 2 GB.
MOST_INSIDE = 1 << 30


@contextmanager
def filled(target: Path, force: bool) -> Iterator[Path]:
    """A folder to be filled, which becomes ``target`` once all of it is written; nothing is left of one that is not.

    Raises:
        UsageError: it cannot be written, or holds something already.
    """
    check_folder(target, force)
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.absolute().parent))
        try:
            yield made
            target.mkdir(exist_ok=True)
            for path in made.iterdir():
                there = target / path.name
                if there.is_dir():
                    shutil.rmtree(there)
                path.replace(there)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or one_line(error)}") from None


def check_folder(target: Path, force: bool) -> None:
    """Find out before anything runs whether a folder can be filled.

    Raises:
        UsageError: it is no folder, lies in none, or has something in it already.
    """
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target}: is a file; give a folder")
    if not target.absolute().parent.is_dir():
        raise UsageError(f"{target}: there is no folder '{target.absolute().parent}'")
    if target.is_dir() and any(target.iterdir()) and not force:
        raise UsageError(f"{target}: has something in it already; give another folder", Remedy.FILL_FOLDER)


def write_model(model: Any, path: Path) -> None:
    """Write an ONNX model, with large constants in a file beside it."""
    import onnx

    beside = model.ByteSize() > MOST_INSIDE
    onnx.save_model(
        model, path, save_as_external_data=beside, all_tensors_to_one_file=True, location=f"{path.name}.data"
    )
