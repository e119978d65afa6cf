"""Folders that a part is written into: the layout of ONNX's own backend tests, or an IR with its arrays beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...runtime.atomic_file import atomic_folder
from ...runtime.errors import Remedy, UsageError, one_line
from ..export_formats.onnx_test_data import write_test_data

__all__ = ["TEST_DATA_FOLDER", "check_folder", "write_folder", "write_test_data"]

#: What ONNX's backend tests call the first set of inputs and outputs.
TEST_DATA_FOLDER = "test_data_set_0"
_TEST_DATA_FILE = re.compile(rf"{TEST_DATA_FOLDER}/(input|output)_\d+\.pb")


@contextmanager
def write_folder(target: Path, force: bool) -> Iterator[Path]:
    """A folder to be filled, whose files are in ``target`` once all of it is written; nothing is left of one that is
    not. Older test data are replaced, and other files in ``target`` stay.

    Raises:
        UsageError: it cannot be written, or holds something already.
    """
    check_folder(target, force)
    try:
        with atomic_folder(target, obsolete=_TEST_DATA_FILE) as folder:
            yield folder
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
        raise UsageError(f"{target}: has something in it already; give another folder", Remedy.WRITE_INTO_FOLDER)
