"""Shared by all tests: a binder that fails for any reason but NotNative fails the test."""

from collections.abc import Iterator

import pytest

from loopdbg.runtime import engine


@pytest.fixture(autouse=True)
def strict_binding() -> Iterator[None]:
    engine.strict_binding = True
    yield
    engine.strict_binding = False
