"""``sweep`` and ``serve`` started Python with the current directory first on its module path: a ``numpy.py`` next to a
model was executed. Here each command that starts a child process runs in a directory full of such files."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import pytest

from cli_runner import PACKAGE_PATH
from dap_client import DapClient
from text_models import proto

#: Modules of the program, of its libraries and of Python, each a file next to the model.
NAMES = (
    *("numpy", "onnx", "loopdbg", "site", "sitecustomize", "usercustomize", "json", "ml_dtypes", "onnxruntime"),
    *("openvino", "torch", "distributed", "dask", "multiprocessing", "pickle", "subprocess", "asyncio", "textual"),
    *("matplotlib", "mcp", "aiohttp", "textual_serve", "struct", "random", "typing", "pyarrow", "tensorrt", "signal"),
)
EVIL = (
    "import os\nopen('executed', 'a').write(f'{os.getpid()} {__name__}\\n')\nraise ImportError('next to the model')\n"
)
#: Each interpreter notes how it was started, as it begins.
NOTING = """
import os, sys
with open({log!r}, "a") as file:
    file.write(repr((os.getpid(), sys.flags.safe_path, sys.orig_argv[1:])) + "\\n")
"""
PLAIN = """
down (float x0) => (float x) {
  n = Constant <value = int64 {6}> ()
  x = Loop <body = body (int64 i, bool c, float x_in) => (bool keep, float x_out) {
    keep = Identity (c)
    one = Constant <value = float {1.0}> ()
    less = Sub (x_in, one)
    x_out = Sqrt (less)
  }> (n, , x0)
}
"""
#: ONNX infers a type in the function, in a process of its own.
FUNCTIONS = """<ir_version: 10, opset_import: ["" : 21]>
down (float[2, 3] x0) => (float[2, 3] x) {
  n = Constant <value = int64 {6}> ()
  labels = Constant <value = int64[2] {0, 1}> ()
  x = Loop <body = body (int64 i, bool c, float[2, 3] x_in) => (bool keep, float[2, 3] x_out) {
    keep = Identity (c)
    twice = Add (x_in, x_in)
    loss = SoftmaxCrossEntropyLoss (twice, labels)
    x_out = Add (x_in, loss)
  }> (n, , x0)
}
"""


class StartedInterpreter(NamedTuple):
    """An interpreter that was started."""

    pid: int
    safe: bool
    arguments: list[str]


class HostileFolder:
    """A directory with two models and hostile modules, and what ran there."""

    def __init__(self, path: Path, names: tuple[str, ...] = NAMES) -> None:
        self.path = path / "downloaded"
        self.path.mkdir()
        onnx.save(proto(PLAIN), self.path / "plain.onnx")
        onnx.save(onnx.parser.parse_model(FUNCTIONS), self.path / "functions.onnx")
        for name in names:
            (self.path / f"{name}.py").write_text(EVIL)
        self._log = path / "started"
        noting = path / "noting"
        noting.mkdir()
        (noting / "sitecustomize.py").write_text(NOTING.format(log=str(self._log)))
        self.module_path = os.pathsep.join(map(str, (noting, PACKAGE_PATH)))

    def start(self, *words: str, python: tuple[str, ...] = ("-P", "-m", "loopdbg"), **more: str) -> Any:
        """A command in the directory, with pipes."""
        environment = {**os.environ, "PYTHONPATH": self.module_path, **more}
        environment.pop("PYTHONSAFEPATH", None)
        return subprocess.Popen(
            [sys.executable, *python, *words],
            cwd=self.path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @property
    def executed(self) -> list[tuple[int, str]]:
        """Process and name of each hostile module that was executed."""
        result = self.path / "executed"
        lines = result.read_text().splitlines() if result.exists() else []
        return [(int(pid), name) for pid, name in map(str.split, lines)]

    def children(self, parent: int) -> list[StartedInterpreter]:
        """The interpreters that a process started."""
        every = [StartedInterpreter(*ast.literal_eval(line)) for line in self._log.read_text().splitlines()]
        assert any(item.pid == parent for item in every)
        return [entry for entry in every if entry.pid != parent]


@pytest.fixture
def folder(tmp_path: Path) -> HostileFolder:
    return HostileFolder(tmp_path)


def needs(*packages: str) -> Any:
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


SWEEP = ("sweep", "plain.onnx", "--random", "2", "-j", "2")
TYPES = ("onnx.subprocess_call",)
#: By command: its words, its exit status, parts of the argument lists of its children, and packages that it needs.
COMMANDS: dict[str, tuple[tuple[str, ...], int, tuple[str, ...], tuple[str, ...]]] = {
    "info": (("info", "functions.onnx"), 0, TYPES, ()),
    "explain": (("explain", "functions.onnx"), 0, TYPES, ()),
    "run": (("run", "functions.onnx"), 0, TYPES, ()),
    "record": (("run", "functions.onnx", "--record", "run.loopdb"), 0, TYPES, ()),
    "console": (("run", "functions.onnx", "-ex", "step", "-ex", "extract out", "--batch"), 0, TYPES, ()),
    "convert": (("convert", "functions.onnx", "out.py"), 1, TYPES, ()),
    "extract": (("extract", "functions.onnx", "--iteration", "1", "-o", "out"), 0, TYPES, ()),
    "plot": (("plot", "functions.onnx", "-o", "out.png"), 0, TYPES, ("matplotlib",)),
    "sweep": (SWEEP, 0, ("sweep.worker_main",), ()),
    "sweep, cluster": ((*SWEEP, "--dask", "local"), 0, ("sweep.worker_main",), ("distributed",)),
    "sweep, peer": ((*SWEEP, "--against", "onnxruntime"), 0, ("sweep.worker_main", "peers.child"), ("onnxruntime",)),
    "diff, onnxruntime": (("diff", "plain.onnx", "--against", "onnxruntime"), 0, ("peers.child",), ("onnxruntime",)),
    "diff, openvino": (("diff", "plain.onnx", "--against", "openvino"), 0, ("peers.child",), ("openvino",)),
    "repro, peer": (("repro", "plain.onnx", "--against", "onnxruntime"), 8, ("peers.child",), ("onnxruntime",)),
    "repro, scripts": (
        ("repro", "plain.onnx", "--break", "nan", "--input", "x0=4", "-o", "out"),
        0,
        ("run_onnxruntime.py", "run_openvino.py"),
        ("onnxruntime", "openvino"),
    ),
}


@pytest.mark.parametrize(
    ("words", "status", "kinds"),
    [
        pytest.param(words, status, kinds, marks=needs(*packages))
        for words, status, kinds, packages in COMMANDS.values()
    ],
    ids=COMMANDS,
)
def test_no_command_executes_them(
    folder: HostileFolder, words: tuple[str, ...], status: int, kinds: tuple[str, ...]
) -> None:
    process = folder.start(*words)
    out, err = process.communicate(timeout=300)
    check(folder, process.pid, kinds)
    assert process.returncode == status, (out, err)


def check(folder: HostileFolder, parent: int, kinds: tuple[str, ...]) -> None:
    """Each kind of child was started, all of them isolated, and no hostile module was executed."""
    started = folder.children(parent)
    assert [item for item in started if not item.safe] == []
    for kind in kinds:
        assert any(kind in " ".join(entry.arguments) for entry in started), (kind, started)
    assert folder.executed == []


@pytest.mark.parametrize("command", ["dap", "mcp"])
def test_neither_an_editor_nor_an_agent_executes_them(folder: HostileFolder, command: str) -> None:
    if command == "mcp":
        pytest.importorskip("mcp")
    process = folder.start(command)
    try:
        if command == "dap":
            client = DapClient(process.stdout, process.stdin)
            assert "before iteration 0" in client.launch_and_stop("functions.onnx")
        else:
            assert "before iteration 0" in asked_as_agent(process, "functions.onnx")
    finally:
        process.stdin.close()
        process.wait(120)
        process.stdout.close()
        process.stderr.close()
    check(folder, process.pid, TYPES)


def asked_as_agent(process: Any, path: str) -> str:
    """The answer to the tool ``open``."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    requests = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "open", "arguments": {"path": path}}},
    ]
    for request in requests:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
        process.stdin.flush()
        if "id" in request:
            while (answer := json.loads(process.stdout.readline())).get("id") != request["id"]:
                pass
    text: str = answer["result"]["content"][0]["text"]
    return text


async def test_no_page_of_serve_executes_them(folder: HostileFolder) -> None:
    pytest.importorskip("textual_serve")
    import aiohttp

    server = folder.start("serve", "functions.onnx", "--no-token")
    try:
        match = re.search(rb"http://(\S+?)/?;", server.stdout.readline())
        assert match is not None
        async with asyncio.timeout(240), aiohttp.ClientSession() as session:
            while True:
                try:
                    page = await session.ws_connect(f"ws://{match[1].decode()}/ws?width=100&height=30")
                    break
                except aiohttp.ClientConnectorError:  # it is about to listen
                    await asyncio.sleep(0.05)
            drawn = b""
            while b"before iteration 0" not in drawn:
                drawn += await page.receive_bytes()
            await page.close()
    finally:
        server.terminate()
        server.wait(120)
        for stream in (server.stdin, server.stdout, server.stderr):
            stream.close()
    check(folder, server.pid, ("loopdbg.__main__", *TYPES))


#: Ways to start the program whose module path has the current directory.
CARELESS = {
    "python -m": (("-m", "loopdbg"), {}),
    "an empty entry": (("-P", "-m", "loopdbg"), {"PYTHONPATH": "{}:"}),
    "a relative entry": (("-P", "-m", "loopdbg"), {"PYTHONPATH": "{}:."}),
    "both": (("-m", "loopdbg"), {"PYTHONPATH": "{}:./:"}),
}


@pytest.mark.parametrize(("python", "variables"), CARELESS.values(), ids=CARELESS)
def test_a_module_path_with_the_current_directory(
    tmp_path: Path, python: tuple[str, ...], variables: dict[str, str]
) -> None:
    """Without what Python itself imports before the program begins: a sitecustomize.py that PYTHONPATH names, and with
    ``-m`` a loopdbg.py."""
    folder = HostileFolder(
        tmp_path, tuple(name for name in NAMES if name not in ("loopdbg", "sitecustomize", "usercustomize"))
    )
    inputs = {name: value.format(folder.module_path).replace(":", os.pathsep) for name, value in variables.items()}
    process = folder.start(*SWEEP, python=python, **inputs)
    out, err = process.communicate(timeout=300)
    check(folder, process.pid, ("sweep.worker_main",))
    assert process.returncode == 0, (out, err)


def test_parent_sitecustomize_is_not_read_by_children(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path, ("usercustomize",))
    (folder.path / "sitecustomize.py").write_text((tmp_path / "noting" / "sitecustomize.py").read_text() + EVIL)
    process = folder.start(*SWEEP, PYTHONPATH=os.pathsep.join((".", folder.module_path)))
    process.communicate(timeout=300)
    assert {pid for pid, _ in folder.executed} == {process.pid}
    assert len(folder.children(process.pid)) == 2


def test_a_program_of_the_user_may_have_the_current_directory_on_its_path(
    folder: HostileFolder, tmp_path: Path
) -> None:
    """Its children have not."""
    script = tmp_path / "program.py"
    script.write_text(
        "import os, sys, loopdbg\n"
        "from loopdbg.debugger.peers.process import Peer\n"
        "sys.path += ['', os.getcwd()]\n"
        "rows = list(loopdbg.sweep('plain.onnx', random=2, processes=2))\n"
        "assert [row.status for row in rows] == ['ok', 'ok']\n"
    )
    process = folder.start(python=(str(script),))
    out, err = process.communicate(timeout=300)
    check(folder, process.pid, ("sweep.worker_main",))
    assert process.returncode == 0, (out, err)
