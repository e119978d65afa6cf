"""A web page could send requests to the port of ``loopdbg dap``, and a client that was reset ended the server."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loopdbg
import loopdbg.editor
from dap_client import RESPONSE_TIMEOUT_SECONDS, DapClient
from error_fields import raises_error
from loopdbg.debugger.frontends.access_token import new_token, token_matches
from loopdbg.debugger.frontends.dap import server
from text_models import SAMPLES

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
MODEL_INPUTS = {"a": 2, "tol": 1e-6}
TOKEN = "a token of a test"


def frame(command: str, **arguments: Any) -> bytes:
    message = {"seq": 1, "type": "request", "command": command, "arguments": arguments}
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Server:
    """``loopdbg dap --port``, as a process of its own."""

    def __init__(self, *options: str) -> None:
        words = [sys.executable, "-m", "loopdbg", "dap", "--port", "0", *options]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        match = re.search(r':(\d+) with "token": "([\w-]+)"', line)
        assert match, line
        self.port, self.token = int(match[1]), match[2]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=RESPONSE_TIMEOUT_SECONDS)

    def answer(self, data: bytes) -> bytes:
        """All that comes back for some bytes, up to the end of the connection."""
        with self.connect() as connection:
            received = b""
            with contextlib.suppress(ConnectionError):  # closed with bytes unread, it is reset
                connection.sendall(data)
                while part := connection.recv(1 << 16):
                    received += part
            return received

    def complaint(self) -> str:
        """The next line on stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.readline().strip()

    def assert_serves(self) -> None:
        """A client with the token is served."""
        with self.connect() as connection:
            stream = connection.makefile("rwb")
            client = DapClient(stream, stream)
            assert (
                client.launch_and_stop(NEWTON, inputs=MODEL_INPUTS, token=self.token)
                == "before iteration 0 of loop 'sqrt'"
            )
            client.get("disconnect")


@pytest.fixture
def served() -> Iterator[Server]:
    first = Server()
    yield first
    assert first.process.poll() is None, "the server goes on"
    first.process.kill()
    first.process.communicate()


def scripted(folder: Path) -> tuple[str, Path]:
    """A script that leaves a file behind when it is run, and that file."""
    script, marker = folder / "net.py", folder / "ran"
    script.write_text(f"open({str(marker)!r}, 'w').close()\n")
    return str(script), marker


def test_a_web_page_is_disconnected_at_its_first_line(served: Server, tmp_path: Path) -> None:
    script, marker = scripted(tmp_path)
    body = frame("launch", program=script, trustScript=True, token=served.token)
    for head in (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n",
        b"Content-Type: a\r\nOrigin: b\r\n",
    ):
        assert served.answer(head + body) == b""
        assert "is no header of the Debug Adapter Protocol" in served.complaint()
    assert not marker.exists()
    served.assert_serves()


@pytest.mark.parametrize("token", [None, "", "wrong", 5, ["x"], "\ud800", True])
def test_a_client_without_the_token_is_disconnected(served: Server, token: Any, tmp_path: Path) -> None:
    script, marker = scripted(tmp_path)
    message = served.answer(frame("launch", program=script, token=token) + frame("threads"))
    assert message.count(b'"success": false') == 1 and b"LOOPDBG_DAP_TOKEN" in message
    assert served.complaint().endswith("its token is missing or wrong")
    assert not marker.exists()


@pytest.mark.parametrize("command", ["threads", "evaluate", "setFunctionBreakpoints", "no such request", "cancel"])
def test_nothing_else_is_answered_before_the_token(served: Server, command: str) -> None:
    message = served.answer(frame("initialize") + frame(command, expression="help", context="repl"))
    assert message.count(b'"success": true') == message.count(b'"success": false') == 1


def test_the_client_does_not_set_its_own_trust(served: Server, tmp_path: Path) -> None:
    script, marker = scripted(tmp_path)
    for more in ({"trustScript": True}, {"trust_script": True}, {"args": ["--trust-script"]}, {"operators": [script]}):
        message = served.answer(frame("launch", program=script, token=served.token, **more) + frame("disconnect"))
        assert b'"success": false' in message
    assert not marker.exists()


def test_a_script_runs_where_the_command_line_trusts_scripts(tmp_path: Path) -> None:
    script, marker = scripted(tmp_path)
    first = Server("--trust-script")
    try:
        first.answer(frame("launch", program=script, token=first.token) + frame("disconnect"))
        assert marker.exists()
    finally:
        first.process.kill()
        first.process.communicate()


@pytest.mark.parametrize("data", [b"", b"Content-Length: 10\r\n\r\n{", frame("initialize") * 3])
def test_a_reset_ends_that_connection_alone(served: Server, data: bytes) -> None:
    for _ in range(3):
        with served.connect() as connection:
            connection.sendall(data)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    served.assert_serves()


def test_a_reset_in_a_session_ends_that_session_alone(served: Server) -> None:
    with served.connect() as connection:
        launch = frame("launch", program=str(SAMPLES / "loop_infinite.xml"), token=served.token, stopOnEntry=False)
        connection.sendall(launch + frame("configurationDone"))
        received = b""
        while b'"command": "configurationDone"' not in received:  # from here on the loop runs
            received += connection.recv(1 << 16)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    served.assert_serves()


def test_a_silent_client_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "TOKEN_TIMEOUT_SECONDS", 0.0)
    ours, theirs = socket.socketpair()
    with theirs:
        assert server.serve_client(ours, lambda arguments: pytest.fail("opened"), TOKEN) == (False, "")


def test_wait_for_editor_waits_for_one_with_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    session = loopdbg.debug(NEWTON, {"a": 2.0, "tol": 1e-6})
    ports: list[int] = []
    ready = threading.Event()

    def listens(port: int) -> None:
        ports.append(port)
        ready.set()

    options: dict[str, Any] = {"port": 0, "token": TOKEN, "timeout": RESPONSE_TIMEOUT_SECONDS, "on_port": listens}
    thread = threading.Thread(target=loopdbg.editor.wait_for_editor, args=(session,), kwargs=options, daemon=True)
    thread.start()
    assert ready.wait(RESPONSE_TIMEOUT_SECONDS)
    for data in (frame("attach"), b"POST / HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", ports[0]), timeout=RESPONSE_TIMEOUT_SECONDS) as page:
            page.sendall(data)
            with contextlib.suppress(ConnectionError):
                while page.recv(1000):
                    pass
    with socket.create_connection(("127.0.0.1", ports[0])) as connection:
        stream = connection.makefile("rwb")
        client = DapClient(stream, stream)
        client.get("initialize")
        client.get("attach", token=TOKEN)
        client.get("disconnect")
    thread.join(RESPONSE_TIMEOUT_SECONDS)
    assert not thread.is_alive()
    assert capsys.readouterr().err.count("a client was disconnected: ") == 2


def test_wait_for_editor_names_the_token(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    session = loopdbg.debug(NEWTON, {"a": 2.0, "tol": 1e-6})
    for variable, text in (
        ("", r'"port": \d+ and "token": "[\w-]{32}"$'),
        (TOKEN, r"and the token of LOOPDBG_DAP_TOKEN$"),
    ):
        monkeypatch.setenv("LOOPDBG_DAP_TOKEN", variable)
        with raises_error(loopdbg.UsageError, name="0"):
            loopdbg.editor.wait_for_editor(session, 0, timeout=0.01)
        assert re.search(text, capsys.readouterr().err.strip())


@pytest.mark.parametrize("token", ["", "short", "x" * 15, "é" * 20, "a\n" * 20])
def test_a_token_that_is_not_secret_is_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = loopdbg.debug(NEWTON, {"a": 2.0, "tol": 1e-6})
    with raises_error(loopdbg.UsageError, name="token", expected="16 printable ASCII characters"):
        loopdbg.editor.wait_for_editor(session, 0, token=token, timeout=0.01)
    if token:
        monkeypatch.setenv("LOOPDBG_DAP_TOKEN", token)
        with raises_error(loopdbg.UsageError, name="LOOPDBG_DAP_TOKEN", expected="16 printable ASCII characters"):
            server.resolve_token()


def test_tokens_are_random_and_compared_whole() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100 and all(len(token) == 32 for token in tokens)
    token = tokens.pop()
    assert token_matches(token, token)
    assert not any(
        token_matches(other, token) for other in (token[:-1], token + "x", "", None, token.encode(), "é" * 32)
    )
