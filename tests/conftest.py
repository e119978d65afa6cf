"""Shared by all tests: a binder that fails for any reason but NotNative fails the test."""

import faulthandler
import gc
import itertools
import locale
import os
import re
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from packaging.requirements import Requirement
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from fork_server import ChildCrashedError, ForkServer, call_in_directory
from loopdbg.runtime.engine.baseline import binder as nodes
from loopdbg.runtime.frontends.onnx import operator_function_bodies, subprocess_call, type_checks
from ui_idle import wait_for_messages, wait_until_idle

# An sdist has the package below src alone; these check a checkout.
collect_ignore = [
    f"unit/{name}.py"
    for name in (
        *("test_child_processes", "test_docs_names", "test_setup_script", "test_smoke_script", "test_source_rules"),
        "benchmarks/test_compare_trees",
        "tui/cli/test_ascii_signs",
    )
    if not (Path(__file__).parents[1] / "runtime").is_dir()
]
#: By the name of a test, in small letters: the numbers of the folders that it is to get.
_folders: dict[str, Iterator[int]] = defaultdict(itertools.count)
# Nothing depends on how busy the machine is.
settings.register_profile("loopdbg", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loopdbg")
# OpenVINO's converter tells its makers of each model, from a process that it waits for, but not on such build machines.
os.environ["TF_BUILD"] = "1"
# All that is collected stays.
gc.disable()
# What is started in the background of a shell ignores Ctrl-C, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


class UnavailablePackages:
    """Skips a test that looks for a package that no other finder has and that pyproject.toml does not ask for on this
    Python, which it has no wheel for. Any other missing package fails the test."""

    def __init__(self) -> None:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        needed = map(Requirement, project["optional-dependencies"]["test"])
        self._names = {package.name for package in needed if package.marker and not package.marker.evaluate()}

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self._names:
            version = ".".join(map(str, sys.version_info[:2]))
            pytest.skip(f"{name} has no wheel for Python {version}", allow_module_level=True)


sys.meta_path.append(UnavailablePackages())


@pytest.fixture(scope="session")
def settings_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("settings")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def isolated_settings(settings_folders: Iterator[Path]) -> Iterator[None]:
    """What a person has set for their own screen changes no test, no test changes it, nor what another test finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOPDBG_CONFIG_DIR", str(next(settings_folders)))
        patch.delenv("CI", raising=False)  # where scripts do not run unasked
        patch.setenv("TERM", "xterm-256color")  # whatever terminal, or none, the tests were started in
        yield


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pytest's own looks through the folders of all tests before to number this one."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}-{next(_folders[name.lower()])}", numbered=False)


@pytest.fixture(autouse=True, scope="session")
def fail_on_binding_errors() -> None:
    nodes.strict_binding = True


@pytest.fixture(autouse=True, scope="session")
def infer_in_fork() -> Iterator[None]:
    """ONNX's inference runs in a fork of one process, and not in a new interpreter each time."""
    one_at_a_time = threading.Lock()
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:

        @cache
        def server() -> ForkServer:
            return stack.enter_context(ForkServer("onnx", operator_function_bodies.__name__, type_checks.__name__))

        def apart(function: Callable[[Any], Any], inputs: Any) -> Any:
            with one_at_a_time:
                try:
                    return server().call(call_in_directory, os.getcwd(), function, inputs)
                except ChildCrashedError:
                    return None
                except BaseException:
                    server.cache_clear()  # of an interrupted call the answer is still to come
                    raise

        for module in (subprocess_call, type_checks):
            patch.setattr(module, "call_in_subprocess", apart)
        yield


@pytest.hookimpl(optionalhook=True)  # the plugin may be off
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: a screen that comes to rest and a child process are waited for."""
    return (os.cpu_count() or 1) + 1


class HangGuard:
    """Ends a process whose test hangs in native code and prints all stacks; xdist reports the test as failed.

    pytest-timeout (``timeout`` in pyproject.toml) fails a test that hangs in Python. Its signal handler cannot run
    while native code does not return to the interpreter. One timer serves many tests, since starting its thread costs
    more than most tests take.
    """

    LIMIT_SECONDS, REARM_SECONDS = 900, 30

    def __init__(self, stderr: int) -> None:
        self._stderr = stderr
        self._armed_at = -float(self.LIMIT_SECONDS)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> None:
        if time.monotonic() - self._armed_at > self.REARM_SECONDS:
            faulthandler.dump_traceback_later(self.LIMIT_SECONDS, exit=True, file=self._stderr)
            self._armed_at = time.monotonic()

    def pytest_exception_interact(self) -> None:
        """pytest cancels the timer of faulthandler when a test fails: start it again at the next test."""
        self._armed_at = -float(self.LIMIT_SECONDS)

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)


class CrashReports:
    """Prints where workers crashed right before the summary: it is easily missed in the middle of a long log."""

    MAX_LINES = 15

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._folder = tempfile.TemporaryDirectory()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """In the process that starts the workers."""
        node.workerinput["crash_report"] = f"{self._folder.name}/{node.gateway.id}.txt"

    def pytest_sessionstart(self) -> None:
        """In a worker, after pytest set the handler of its own."""
        path = getattr(self._config, "workerinput", {}).get("crash_report")
        if path is not None:
            faulthandler.enable(os.open(path, os.O_WRONLY | os.O_CREAT))

    def pytest_sessionfinish(self) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        for path in sorted(Path(self._folder.name).iterdir()):
            text = path.read_text(encoding="utf-8", errors="replace")
            if text and terminal is not None:
                lines = text[max(text.find("Current thread"), 0) :].splitlines()[: self.MAX_LINES]
                terminal.write_line("\n".join([f"\n{path.stem}: {text.splitlines()[0]}", *lines]))


def pytest_configure(config: pytest.Config) -> None:
    """Duplicate stderr before a test captures it."""
    config.pluginmanager.register(HangGuard(os.dup(2)))
    config.pluginmanager.register(CrashReports(config))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests begin first, then those of the screen, up to a minute each: one that began last would run
    alone."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, "tui" not in item.path.parts))


def pytest_collection_finish() -> None:
    """Twenty thousand tests stay to the end; they need not be looked through for garbage. Nor need what a test makes
    after each 700 objects: graphs, plans and screens are made of many, and most end with their last reference."""
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def fast_screens() -> Iterator[None]:
    """They are at rest soon, and few widgets are asked whether they are; each app parses its styles again, which of the
    same colours are the same; and each strip makes seven small caches, with little to keep in them."""
    parsed: dict[Any, Any] = {}
    parse = Stylesheet._parse_rules

    def rules(self: Stylesheet, css: str, **of: Any) -> Any:
        key = css, *of.items(), *self._variables.items()
        if key not in parsed:
            parsed[key] = parse(self, css, **of)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        for name in ("textual.app.wait_for_idle", "textual.pilot.wait_for_idle"):
            patch.setattr(name, wait_until_idle)
        patch.setattr(Pilot, "_wait_for_screen", wait_for_messages)
        patch.setattr(Stylesheet, "_parse_rules", rules)
        patch.setattr("textual.strip.FIFOCache", lambda size: {})
        yield


@pytest.fixture(autouse=True)
def restore_locale() -> Iterator[None]:
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
