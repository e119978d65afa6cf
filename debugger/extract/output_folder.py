"""Output folders of extracted parts: the layout of ONNX's backend tests, or an IR together with its arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...runtime.atomic_file import atomic_folder
from ...runtime.errors import Remedy, UsageError, file_error, missing_folder_error
from ..export_formats.onnx_test_data import write_test_data

__all__ = ["TEST_DATA_FOLDER", "check_writable_folder", "staging_folder", "write_test_data"]

#: The name of the first test data set in ONNX's backend tests.
TEST_DATA_FOLDER = "test_data_set_0"
_TEST_DATA_FILE = re.compile(rf"{TEST_DATA_FOLDER}/(input|output)_\d+\.pb")


@contextmanager
def staging_folder(target: Path, force: bool) -> Iterator[Path]:
    """A temporary folder whose files are moved to ``target`` on success; on failure it is deleted. Older test data are
    replaced, and other files in ``target`` stay.

    Raises:
        UsageError: the folder cannot be written, or is not empty.
    """
    check_writable_folder(target, force)
    try:
        with atomic_folder(target, obsolete=_TEST_DATA_FILE) as folder:
            yield folder
    except OSError as error:
        raise file_error(UsageError, target, "cannot be written", error) from None


def check_writable_folder(target: Path, force: bool) -> None:
    """Check before a run whether a folder can be written.

    Raises:
        UsageError: it is not a folder, has no parent folder, or is not empty.
    """
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target}: is a file; give a folder", name=str(target), expected="a folder", got="a file")
    if not target.absolute().parent.is_dir():
        raise missing_folder_error(target, target.absolute().parent)
    if target.is_dir() and any(target.iterdir()) and not force:
        raise UsageError(
            f"{target}: has something in it already; give another folder",
            Remedy.WRITE_INTO_FOLDER,
            name=str(target),
            expected="an empty folder",
        )
