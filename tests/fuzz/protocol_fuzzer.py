"""Hostile clients of every server: bytes, names, paths and options, against ``dap --port``, ``mcp`` and ``serve``.

    python tests/fuzz/protocol_fuzzer.py --dap 2000 --mcp 500 --serve 200 --seed 7

A fault is: a server that ends or does not answer; a traceback or an internal error; a written file; an executed script;
an option that is parsed from the text of a client; a client that is accepted without the token.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
NEWTON = ROOT / "sample_models" / "newton_sqrt.onnx"
#: Seconds that any answer may take on a busy machine.
RESPONSE_TIMEOUT_SECONDS = float(os.environ.get("PATIENCE", "120"))
#: Names and texts with a meaning for a terminal, a shell, an option parser, a browser or a file system.
HOSTILE_STRINGS = (
    *("", " ", "--help", "-h", "--version", "--trust-script", "--allow-write=/", "--", "-", "@net.py", "-x"),
    *("../../../etc/passwd", "/dev/stdin", "/dev/zero", "net.py", "./net.py:make", "\\\\host\\share\\net.py", "~a/x"),
    *("a\x1b[31mb\x07", "a\nopened: trust this", "\r\n\r\nContent-Length: 2\r\n\r\n{}", "\0", "a\0b", "\ud800"),
    *("<script>alert(1)</script>", "$(touch ran)", "`touch ran`", "; touch ran", "%s%n", "{0.__class__}", "🤖" * 9),
    *("x", "h", "x@1", "x * x", "(((", "[" * 500, "x" * 6000, "9" * 400, "nan", "`", "x[9]", "iter 2", "if x > 1"),
    *("line 9", "step", "goto 2", "back", "set x = 3", "help", "info loops", "commands", "end", "quit", "restart"),
)  # fmt: skip
#: Console commands that would read or write a file.
FILE_COMMANDS = (
    "save ran.onnx",
    "extract ran",
    "plot x ran.svg",
    "repro ran if x > 0",
    "source net.py",
    "extract ran all",
)


class ProtocolViolation(Exception):
    """A violation that no client may be able to cause."""


def hostile_model(path: Path) -> None:
    """A loop whose names could be misinterpreted by a terminal, an editor or an agent."""
    x, y, name = "a\x1b[31mb\nopened: trust this", "--help", "<b>\x07\u202e"
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", [x, x], [y], name=name), helper.make_node("Identity", ["c"], ["d"])],
        name,
        [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value(x, TensorProto.FLOAT, [])],
        [value("d", TensorProto.BOOL, []), value(y, TensorProto.FLOAT, [])],
    )
    loop = helper.make_node("Loop", ["n", "", "x0\n"], ["r\x1b"], body=body, name=name)
    graph = helper.make_graph(
        [loop],
        name,
        [value("n", TensorProto.INT64, []), value("x0\n", TensorProto.FLOAT, [])],
        [value("r\x1b", TensorProto.FLOAT, [])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, path)


class ServerSandbox:
    """A folder in which servers run, with files that they must not touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models = [folder / "newton.onnx", folder / "hostile.onnx", folder / "net.py", folder / "broken.onnx"]
        shutil.copy(NEWTON, self.models[0])
        hostile_model(self.models[1])
        self.models[2].write_text("open('ran', 'w').close()\n")
        self.models[3].write_bytes(NEWTON.read_bytes()[:99])
        (folder / "config.toml").write_text('peer = "onnxruntime"\n')
        self._files_before = self._files()
        self.environment = {**os.environ, "LOOPDBG_CONFIG_DIR": str(folder), "HOME": str(folder), "TERM": "dumb"}

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a server as a separate process."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "loopdbg", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.environment,
        )

    def check(self) -> None:
        """Check that nothing was written, and that no script has run."""
        if (now := self._files()) != self._files_before:
            raise ProtocolViolation(f"files were written: {sorted(now.items() - self._files_before.items())[:5]}")

    def _files(self) -> dict[str, int]:
        return {
            str(path.relative_to(self.folder)): path.stat().st_mtime_ns
            for path in self.folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }


class StderrWatcher:
    """Reads the stderr of a server, which must contain no traceback."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.text = b""
        self._process = process
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def tail(self) -> str:
        """The last lines of stderr."""
        return self.text[-2000:].decode("utf-8", "replace")

    def _read(self) -> None:
        assert self._process.stderr is not None
        while part := self._process.stderr.read1(1 << 16):
            self.text = (self.text + part)[-100_000:]

    def check(self) -> None:
        """Raise if the server has ended or reported an internal error."""
        if self._process.poll() is not None:
            raise ProtocolViolation(f"the server ended with status {self._process.returncode}: {self.tail}")
        for word in (b"Traceback", b"internal error", b"usage:"):
            if word in self.text:
                raise ProtocolViolation(f"{word.decode()} on stderr: {self.tail}")


def random_json_value(draw: random.Random, depth: int = 0) -> Any:
    """Any value that JSON can hold."""
    kind = draw.randrange(9 if depth < 3 else 6)
    if kind < 3:
        return draw.choice(HOSTILE_STRINGS)
    if kind == 3:
        return draw.choice([None, True, False, 0, 1, 2, -1, 10**30, -(2**63), 0.5, 1e400])
    if kind in (4, 5):
        return draw.randrange(40)
    if kind == 6:
        return [random_json_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {
        draw.choice((*HOSTILE_STRINGS, "a", "tol", "n")): random_json_value(draw, depth + 1)
        for _ in range(draw.randrange(4))
    }


def random_bytes(draw: random.Random) -> bytes:
    """Random bytes."""
    kind = draw.randrange(4)
    if kind == 0:
        return draw.randbytes(draw.randrange(2000))
    if kind == 1:
        return b"".join(
            draw.choice((b"\r\n", b"\n", b"\0", b"Content-Length: 5", b"{}", b":", b"\xff")) for _ in range(50)
        )
    if kind == 2:
        method = draw.choice(("GET", "POST", "OPTIONS", "CONNECT", "\x16\x03\x01"))
        return f"{method} {draw.choice(HOSTILE_STRINGS)} HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\n\r\n".encode(
            "utf-8", "replace"
        )
    return draw.choice(HOSTILE_STRINGS).encode("utf-8", "replace") + b"\r\n"


# ------------------------------------------------------------------ the Debug Adapter Protocol

_KEYS = (
    *("threadId", "frameId", "variablesReference", "start", "count", "line", "endLine", "column", "expression"),
    *("context", "name", "value", "breakpoints", "filters", "filterOptions", "source", "sourceReference", "text"),
    *("targetId", "levels", "startFrame", "dataId", "condition", "hitCondition", "logMessage", "filterId", "restart"),
    *("program", "trace", "inputs", "args", "trustScript", "operators", "weights", "seed", "dims", "state", "case"),
    *("iteration", "token", "batched", "requests", "maxIterations", "stopOnEntry", "stopAtEnd"),
)  # fmt: skip


def _frame_message(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class DapFuzzer:
    """Conversations with ``loopdbg dap --port``."""

    def __init__(self, place: ServerSandbox) -> None:
        from loopdbg.debugger.frontends.dap.adapter import _REQUESTS

        self._sandbox = place
        self._requests = (*_REQUESTS, "nothing", "")
        self.process = place.start("dap", "--port", "0")
        self._stderr = StderrWatcher(self.process)
        assert self.process.stdout is not None
        match = re.search(rb':(\d+) with "token": "([\w-]+)"', self.process.stdout.readline())
        assert match
        self._port, self._token = int(match[1]), match[2].decode()

    def run_conversation(self, draw: random.Random) -> None:
        """Hold one conversation."""
        admitted = draw.random() < 0.5
        data = self._conversation(draw, admitted)
        if draw.random() < 0.3:
            index = draw.randrange(len(data) + 1)
            data = (
                data[:index]
                + draw.choice((b"", random_bytes(draw), data[index // 2 :]))
                + data[index + draw.randrange(9) :]
            )
        with socket.create_connection(("127.0.0.1", self._port), timeout=RESPONSE_TIMEOUT_SECONDS) as connection:
            received = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
                if draw.random() < 0.1:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                with contextlib.suppress(OSError):  # closed at the other end
                    connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(1 << 16):
                    received += part
        if b"internal error" in received:
            index = received.index(b"internal error")
            raise ProtocolViolation(received[max(0, index - 200) : index + 300].decode("utf-8", "replace"))
        if not admitted and received.count(b'"success": true') > data.count(b'"initialize"') + data.count(
            b'"disconnect"'
        ):
            raise ProtocolViolation("a client was let in without the token")
        if b"usage: " in received:
            raise ProtocolViolation("an option was read")

    def _conversation(self, draw: random.Random, admitted: bool) -> bytes:
        if not admitted and draw.random() < 0.4:
            return random_bytes(draw)
        token = (
            self._token if admitted else draw.choice([None, "", self._token[:-1], self._token + "x", *HOSTILE_STRINGS])
        )
        program = (
            draw.choice((*map(str, self._sandbox.models), *HOSTILE_STRINGS))
            if draw.random() < 0.4
            else str(self._sandbox.models[0])
        )
        launch = {
            "program": program,
            "token": token,
            "inputs": draw.choice([None, {"a": 2, "tol": 1e-6}, random_json_value(draw)]),
        }
        for _ in range(draw.randrange(3)):
            launch.setdefault(draw.choice(_KEYS), random_json_value(draw))
        launch["stopOnEntry"] = True
        requests = [("initialize", random_json_value(draw)), ("launch", launch), ("configurationDone", None)]
        requests += [(draw.choice(self._requests), self._arguments(draw)) for _ in range(draw.randrange(30))]
        if draw.random() < 0.2:
            draw.shuffle(requests)
        return b"".join(
            _frame_message({"seq": seq, "type": "request", "command": command, "arguments": arguments})
            for seq, (command, arguments) in enumerate(requests)
        )

    @staticmethod
    def _arguments(draw: random.Random) -> Any:
        if draw.random() < 0.1:
            return random_json_value(draw)
        arguments = {draw.choice(_KEYS): random_json_value(draw) for _ in range(draw.randrange(9))}
        arguments.setdefault("context", draw.choice(("repl", "hover", "watch")))
        return arguments

    def check(self) -> None:
        """Check that the server runs, has reported no error, and serves the next client."""
        self._stderr.check()
        with socket.create_connection(("127.0.0.1", self._port), timeout=RESPONSE_TIMEOUT_SECONDS) as connection:
            connection.sendall(_frame_message({"seq": 1, "type": "request", "command": "initialize"}))
            if not connection.recv(100).startswith(b"Content-Length"):
                raise ProtocolViolation("the next client is not answered")
        self._sandbox.check()


# ------------------------------------------------------------------ the Model Context Protocol

_TOOLS: dict[str, tuple[str, ...]] = {
    "open": ("path", "inputs", "seed", "max_iterations"),
    "explain": (),
    "list_source": ("which",),
    "step": ("count", "unit"),
    "continue_run": (),
    "back": ("count", "unit"),
    "reverse_continue": (),
    "go_to": ("iteration",),
    "set_breakpoint": ("place", "watch"),
    "clear_breakpoints": (),
    "print_value": ("expression",),
    "why": (),
    "set_value": ("target", "value"),
    "command": ("line",),
    "diff": ("a", "b", "against", "inputs"),
    "extract": ("folder", "whole"),
}


class McpFuzzer:
    """Conversations with ``loopdbg mcp``."""

    def __init__(self, place: ServerSandbox) -> None:
        self._sandbox = place
        self.process = place.start("mcp")
        self._stderr = StderrWatcher(self.process)
        self._id = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        self._ask("initialize", client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: Any) -> None:
        # The protocol's library does not answer a request with half of a surrogate pair.
        self._write(json.dumps(message).replace(r"\ud800", "?").encode() + b"\n")

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError:
            raise ProtocolViolation(f"the server is gone: {self._stderr.tail}") from None

    def _ask(self, method: str, parameters: Any) -> str:
        """The answer to a request."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": parameters})
        assert self.process.stdout is not None
        alarm = threading.Timer(RESPONSE_TIMEOUT_SECONDS, self.process.kill)
        alarm.start()
        try:
            while line := self.process.stdout.readline():
                try:
                    answer = json.loads(line)
                except ValueError:
                    raise ProtocolViolation(f"no message: {line[:500].decode('utf-8', 'replace')}") from None
                if answer.get("id") == self._id:
                    return str(line.decode())
        finally:
            alarm.cancel()
        raise ProtocolViolation(f"{method} {str(parameters)[:300]} has no answer: {self._stderr.tail}")

    def run_conversation(self, draw: random.Random) -> None:
        """Hold one conversation on the open connection."""
        if draw.random() < 0.7:
            self._tool("open", {"path": str(draw.choice(self._sandbox.models[:2])), "inputs": {"a": 2, "tol": 1e-6}})
        for _ in range(draw.randrange(1, 12)):
            kind = draw.random()
            if kind < 0.15:
                self._write(random_bytes(draw).replace(b"\n", b" ") + b"\n")
            elif kind < 0.25:
                self._send(
                    {"jsonrpc": "2.0", "method": draw.choice(HOSTILE_STRINGS), "params": random_json_value(draw)}
                )
            elif kind < 0.3:
                self._ask("resources/read", {"uri": f"loopdbg://history/{draw.choice(('x', *HOSTILE_STRINGS))}"})
            else:
                name = draw.choice(tuple(_TOOLS))
                self._tool(name, {key: self._argument(draw, key) for key in _TOOLS[name] if draw.random() < 0.9})
        self._tool("why", {})

    def _argument(self, draw: random.Random, key: str) -> Any:
        if key in ("count", "iteration", "seed", "max_iterations") and draw.random() < 0.7:
            return draw.choice((0, 1, 2, 3, -1, 10**30))
        if key == "unit" and draw.random() < 0.7:
            return draw.choice(("iteration", "node", "into", "loop"))
        if key in ("a", "b", "path") and draw.random() < 0.6:
            return str(draw.choice(self._sandbox.models))
        if key in ("line", "folder") and draw.random() < 0.4:
            return draw.choice(FILE_COMMANDS)
        if key in ("inputs", "watch", "whole", "against") and draw.random() < 0.6:
            return {"inputs": {}, "watch": True, "whole": True, "against": ""}[key]
        return draw.choice(HOSTILE_STRINGS) if draw.random() < 0.8 else random_json_value(draw)

    def _tool(self, name: str, arguments: Any) -> None:
        answer = self._ask("tools/call", {"name": name, "arguments": arguments})
        for word in ("internal error", "Traceback", "usage: "):
            if word in answer:
                raise ProtocolViolation(f"{name} {str(arguments)[:300]}: {word}: {answer[:1000]}")

    def check(self) -> None:
        """Check that the server runs, and that nothing was written."""
        self._stderr.check()
        self._sandbox.check()


# ------------------------------------------------------------------ serve

_ESCAPE_SEQUENCE = re.compile(rb"\x1b\[[0-9;?<>=:]*[A-Za-z]|\x1b[()=>P][^\x1b]*")
_PATHS = (
    "",
    "ws",
    "ws/" + "0" * 32,
    "download/x",
    "static/",
    "static/js/textual.js",
    "static/../../../../etc/passwd",
    "%2e%2e/",
)


class ServeFuzzer:
    """Conversations with ``loopdbg serve``."""

    def __init__(self, place: ServerSandbox) -> None:
        self._sandbox = place
        self.process = place.start("serve", "newton.onnx", "--input", "a=2", "--input", "tol=1e-6")
        self._stderr = StderrWatcher(self.process)
        assert self.process.stdout is not None
        match = re.search(rb"http://127.0.0.1:(\d+)/\?token=([\w-]+)", self.process.stdout.readline())
        assert match
        self._port, self._token = int(match[1]), match[2].decode()
        self._number = 0
        while True:  # it prints its address before it listens
            with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", self._port)):
                break

    def run_conversation(self, draw: random.Random) -> None:
        """Hold one conversation."""
        if draw.random() < 0.5:
            self._http(draw)
        else:
            asyncio.run(self._page(draw))

    def _http(self, draw: random.Random) -> None:
        """A client without the token is refused; any bytes are answered, or the connection is closed."""
        host = f"127.0.0.1:{self._port}"
        path = draw.choice((*_PATHS, *HOSTILE_STRINGS)).replace("\n", "").replace("\r", "").replace(" ", "%20")
        token = draw.choice(("", "?token=", f"?token={self._token[:-1]}", f"?token={self._token}", "?token=\xff"))
        origin = draw.choice(([], ["Origin: null"], ["Origin: http://example.org"], [f"Origin: http://{host}"]))
        method = draw.choice(("GET", "POST", "PUT", "HEAD"))
        head = [f"{method} /{path}{token} HTTP/1.1", f"Host: {draw.choice((host, 'evil.example'))}", *origin]
        if draw.random() < 0.5:
            head += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
            head += [f"Sec-WebSocket-Key: {'A' * 22}=="]
        data = ("\r\n".join([*head, "Connection: close"]) + "\r\n\r\n").encode("utf-8", "replace")
        if draw.random() < 0.3:
            data = random_bytes(draw)
        with socket.create_connection(("127.0.0.1", self._port), timeout=RESPONSE_TIMEOUT_SECONDS) as connection:
            received = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
                with contextlib.suppress(OSError):  # closed at the other end
                    connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(1 << 16):
                    received += part
        status = received[9:12]
        own = (
            token == f"?token={self._token}"
            and b"evil" not in data
            and b"example.org" not in data
            and b"null" not in data
        )
        if status[:1] in (b"1", b"2", b"5") and not own:
            raise ProtocolViolation(f"{data[:200]!r} is answered {received[:200]!r}")

    async def _page(self, draw: random.Random) -> None:
        """Send messages and keys to a page with the token, which still answers afterwards."""
        import aiohttp

        self._number += 1
        address = f"http://127.0.0.1:{self._port}/"
        cookies = {f"loopdbg-token-{self._port}": self._token}
        name = draw.choice(("", f"/{draw.getrandbits(128):032x}"))
        query = draw.choice(("", "?width=100&height=30", "?width=-1&height=x", "?width=99999999&height=99999999"))
        jar = aiohttp.CookieJar(unsafe=True)
        async with (
            aiohttp.ClientSession(cookie_jar=jar, cookies=cookies) as session,
            session.ws_connect(f"{address}ws{name}{query}") as page,
        ):
            await page.receive(RESPONSE_TIMEOUT_SECONDS)
            for _ in range(draw.randrange(20)):
                await self._message(draw, page)
            if draw.random() < 0.2:
                return
            sign = f"alive{self._number}"
            screen = b""
            asking = asyncio.create_task(self._console_echoes(page, sign))
            async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS), contextlib.AsyncExitStack() as stack:
                stack.callback(asking.cancel)
                async for message in page:
                    if message.type == aiohttp.WSMsgType.BINARY:
                        screen = (screen + _ESCAPE_SEQUENCE.sub(b"", message.data))[-50_000:]
                    elif message.type == aiohttp.WSMsgType.TEXT and '"ended"' in message.data:
                        raise ProtocolViolation(message.data)
                    if b"internal error" in screen:
                        raise ProtocolViolation(screen[-3000:].decode("utf-8", "replace"))
                    if sign.encode() in screen:
                        return

    @staticmethod
    async def _console_echoes(page: Any, sign: str) -> None:
        """Return from any screen to the console, and let it echo a text; waits until that is visible."""
        keys = [*"\x1b" * 5, ":", *"end", "\r", "\x1b", ":", *f"echo {sign}", "\r"]
        pause = 0.2
        with contextlib.suppress(ConnectionError):
            while True:
                for key in keys:
                    await page.send_json(["stdin", key])
                    if key == "\x1b":  # followed immediately by more bytes it would be another key
                        await asyncio.sleep(pause)
                pause *= 2  # the machine is busy
                await asyncio.sleep(10 * pause)

    @staticmethod
    async def _message(draw: random.Random, page: Any) -> None:
        kind = draw.random()
        with contextlib.suppress(ConnectionError):
            if kind < 0.1:
                await page.send_bytes(random_bytes(draw))
            elif kind < 0.2:
                await page.send_str(random_bytes(draw).decode("latin-1"))
            elif kind < 0.4:
                word = draw.choice(("stdin", "resize", "ping", "blur", "focus", "quit", "deliver_file_start", "x"))
                await page.send_str(json.dumps([word, random_json_value(draw)]))
            elif kind < 0.7:
                await page.send_json(["stdin", "\x1b"])
                await page.send_json(["stdin", ":"])
                await page.send_json(
                    ["stdin", draw.choice((*FILE_COMMANDS, *HOSTILE_STRINGS)).encode("utf-8", "replace").decode()]
                )
                await page.send_json(["stdin", "\r"])
            else:
                await page.send_json(["stdin", draw.choice("abcdefghijklmnopstuvwxyz0123456789.:/?\t\r\x7f[]<>")])

    def check(self) -> None:
        """Check that the server runs, and that nothing was written."""
        self._stderr.check()
        self._sandbox.check()


# ------------------------------------------------------------------ all of them

FUZZERS: dict[str, Callable[[ServerSandbox], Any]] = {"dap": DapFuzzer, "mcp": McpFuzzer, "serve": ServeFuzzer}


@contextlib.contextmanager
def _started_fuzzer(kind: str) -> Iterator[Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = FUZZERS[kind](ServerSandbox(Path(folder)))
        try:
            yield server
        finally:
            server.process.kill()
            server.process.wait()


def run_conversations(kind: str, numbers: Sequence[int], seed: int) -> list[str]:
    """Hold conversations with one kind of server; returns the faults. After a fault a new server is started."""
    faults: list[str] = []
    left = list(numbers)
    while left:
        with _started_fuzzer(kind) as server:
            while left:
                number = left.pop(0)
                try:
                    server.run_conversation(random.Random(f"{seed} {kind} {number}"))
                    server.check()
                except (ProtocolViolation, TimeoutError, OSError) as fault:
                    faults.append(f"{kind} {number} of seed {seed}: {type(fault).__name__}: {fault}")
                    break
    return faults


def main() -> int:
    """Hold the requested numbers of conversations; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind in FUZZERS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="N", help=f"conversations with {kind}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="K", help="conversation K alone")
    options = parser.parse_args()
    count = 0
    for kind in FUZZERS:
        number = getattr(options, kind)
        faults = run_conversations(
            kind, range(number) if options.only is None else [options.only] * bool(number), options.seed
        )
        for fault in faults:
            print(fault)
        print(f"{kind}: {number} conversations, {len(faults)} faults")
        count += len(faults)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
