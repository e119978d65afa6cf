"""Shared by all tests: a binder that fails for any reason but NotNative fails the test."""

from collections.abc import Iterator

import pytest

from loopdbg.runtime import nodes


@pytest.fixture(autouse=True)
def strict_binding() -> Iterator[None]:
    nodes.strict_binding = True
    yield
    nodes.strict_binding = False
