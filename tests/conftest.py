"""Shared by all tests: a binder that fails for any reason but NotNative fails the test."""

import signal
from collections.abc import Iterator

import pytest

from loopdbg.runtime.engine import binder as nodes

# What is started in the background of a shell ignores Ctrl-C, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def strict_binding() -> Iterator[None]:
    nodes.strict_binding = True
    yield
    nodes.strict_binding = False
