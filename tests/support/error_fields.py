"""Errors are asserted by class and fields; the wording of each has one test of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from loopdbg.runtime.errors import LoopdbgError

ErrorKind = TypeVar("ErrorKind", bound=LoopdbgError)


@contextmanager
def raises_error(kind: type[ErrorKind], **fields: object) -> Iterator[pytest.ExceptionInfo[ErrorKind]]:
    """Like ``pytest.raises``, for an error of exactly this class, in one line, whose attributes are ``fields``.

    A path is compared as text.
    """
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert type(error) is kind, f"{type(error).__name__}: {error}"
    assert "\n" not in str(error)
    expected = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in fields.items()}
    assert {name: getattr(error, name) for name in fields} == expected, str(error)
