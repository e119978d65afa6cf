"""Shared by all tests: a binder that fails for any reason but NotNative fails the test."""

import itertools
import locale
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from fresh import Crash, Fresh, at
from loopdbg.runtime.engine.plain import binder as nodes
from loopdbg.runtime.frontends.onnx import functions, types

# Nothing depends on how busy the machine is.
settings.register_profile("loopdbg", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loopdbg")
# What is started in the background of a shell ignores Ctrl-C, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def settings_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("settings")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def settings_of_nobody(settings_folders: Iterator[Path]) -> Iterator[None]:
    """What a person has set for their own screen changes no test, no test changes it, nor what another test finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOPDBG_CONFIG_DIR", str(next(settings_folders)))
        patch.delenv("CI", raising=False)  # where scripts do not run unasked
        yield


@pytest.fixture(autouse=True, scope="session")
def strict_binding() -> None:
    nodes.strict_binding = True


@pytest.fixture(autouse=True, scope="session")
def forks_for_inference() -> Iterator[None]:
    """ONNX's inference runs in a fork of one process, and not in a new interpreter each time."""
    one_at_a_time = threading.Lock()
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:

        @cache
        def server() -> Fresh:
            return stack.enter_context(Fresh("onnx", functions.__name__, types.__name__))

        def apart(function: Callable[[Any], Any], given: Any) -> Any:
            with one_at_a_time:
                try:
                    return server().call(at, os.getcwd(), function, given)
                except Crash:
                    return None
                except BaseException:
                    server.cache_clear()  # of an interrupted call the answer is still to come
                    raise

        for module in (functions, types):
            patch.setattr(module, "apart", apart)
        yield


@pytest.fixture(autouse=True)
def locale_of_before() -> Iterator[None]:
    """ONNX Runtime's StringNormalizer sets the locale of the whole process, and with it how text is read."""
    before = locale.setlocale(locale.LC_CTYPE)
    yield
    locale.setlocale(locale.LC_CTYPE, before)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what tests counted by ``record_property("conformance", line)``, and the node tests of ONNX."""
    lines = [
        value
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, [])
        for name, value in report.user_properties
        if name == "conformance"
    ]
    ran = {
        kind: [report for report in terminalreporter.stats.get(kind, []) if "::test_node_case[" in report.nodeid]
        for kind in ("passed", "failed")
    }
    if any(ran.values()):
        lines.append(f"of {sum(map(len, ran.values()))} node tests of ONNX {len(ran['passed'])} are right")
        lines += [f"  wrong: {report.nodeid.partition('[')[2][:-1]}" for report in ran["failed"]]
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(str(line))
