"""Odd messages to the debug adapter: each request gets one response, and nothing else happens."""

from __future__ import annotations

import contextlib
import io
import json
import random
import threading
from typing import Any

import pytest

import loopdbg
from loopdbg.debugger.frontends.dap.adapter import _REQUESTS, DapAdapter
from loopdbg.debugger.frontends.dap.messages import DapMessageStream, ProtocolError
from text_models import SAMPLES

#: Requests that would end the connection, or keep running.
LAST = ("disconnect", "launch", "attach", "initialize")
WORDS = (
    *("", "x", "err_new", "h", "x * x", "(((", "step", "goto 2", "info loop", "\u0000", "🤖" * 9, "break", "`", "x@1"),
    *("a[9]", "[0]", "set x = 3", "back", "restart", "list all", "delete", "watch x", "print", "x = 5", "tbreak end"),
)
KEYS = (
    *("threadId", "frameId", "variablesReference", "start", "count", "line", "endLine", "column", "expression"),
    *("context", "name", "value", "breakpoints", "filters", "filterOptions", "source", "sourceReference", "text"),
    *("targetId", "levels", "startFrame", "dataId", "condition", "hitCondition", "logMessage", "filterId", "restart"),
)


def random_json_value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return draw.choice([0, 1, 2, -1, 3, 10**30, -(2**63), 0.5, float("nan")])
    if kind in (1, 2):
        return draw.choice(WORDS)
    if kind == 3:
        return draw.choice([None, True, False])
    if kind in (4, 5):
        return draw.randrange(40)
    if kind == 6:
        return [random_json_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(KEYS): random_json_value(draw, depth + 1) for _ in range(draw.randrange(5))}


def frame(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def answers(data: bytes) -> list[dict[str, Any]]:
    stream, result = io.BytesIO(data), []
    while line := stream.readline():
        stream.readline()
        result.append(json.loads(stream.read(int(line.split(b":")[1]))))
    assert "internal error" not in data.decode()
    return [item for item in result if item["type"] == "response"]


def exchange(data: bytes) -> list[dict[str, Any]]:
    """The reply to some bytes; bytes that violate the protocol end the connection."""
    outgoing = io.BytesIO()

    def opens(arguments: Any) -> loopdbg.Session:
        return loopdbg.debug(SAMPLES / "newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}, max_iterations=50)

    def serve() -> None:
        with contextlib.suppress(ProtocolError):
            DapAdapter(DapMessageStream(io.BytesIO(data), outgoing), opens).serve()

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join(300)
    assert not thread.is_alive()
    return answers(outgoing.getvalue())


@pytest.mark.parametrize("seed", range(10))
def test_odd_arguments(seed: int) -> None:
    """A thousand requests each, with valid or random arguments."""
    draw = random.Random(seed)
    names = [name for name in _REQUESTS if name not in LAST]
    requests = [{"seq": 0, "type": "request", "command": "launch", "arguments": {}}]
    for seq in range(1, 1000):
        arguments = (
            {draw.choice(KEYS): random_json_value(draw) for _ in range(draw.randrange(9))}
            if draw.random() < 0.9
            else random_json_value(draw)
        )
        requests.append({"seq": seq, "type": "request", "command": draw.choice(names), "arguments": arguments})
    message = exchange(b"".join(map(frame, requests)))
    assert [item["request_seq"] for item in message] == list(range(1000))
    assert any(entry["success"] for entry in message[1:]) and any(not element["success"] for element in message)


GOOD = frame({"seq": 7, "type": "request", "command": "threads", "arguments": None})


@pytest.mark.parametrize(
    "junk",
    [
        b"Content-Length: 3\r\n\r\n{}}",
        b"Content-Type: text\r\nContent-Length: 2\r\n\r\n[]",
        frame([1, 2]),
        frame({"type": "request", "command": 5, "seq": 1}),
        frame({"type": "response", "seq": 1}),
        frame("[" * 50),
        b"Content-Length: 40\r\n\r\n" + b"[" * 40,
        b"\r\n\n",
    ],
)
def test_body_that_is_no_request_is_ignored(junk: bytes) -> None:
    message = exchange(junk + GOOD)
    assert [item["request_seq"] for item in message] == [7]
    assert "nothing was opened" in message[0]["message"]


@pytest.mark.parametrize(
    "junk",
    [
        b"hello\r\n",
        b"\xff\xfe\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
        b"Content-Length: 2\r\nOrigin: http://example.org\r\n\r\n{}",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Content-Length: 70000000\r\n\r\n" + b" " * 100,
        b"Content-Length: 99999999999999999999999\r\n\r\n",
        b"Content-Type: text\r\n\r\n{}",
        b"Content-Type: " + b"x" * 300 + b"\r\n",
        b"Content-Type: x\r\n" * 20,
        b"\x16\x03\x01" + bytes(range(256)) * 8,
    ],
)
def test_header_outside_the_protocol_ends_the_connection(junk: bytes) -> None:
    """Covers headers of a browser and oversized ones; nothing after them is read."""
    message = exchange(GOOD + junk + GOOD)
    assert [item["request_seq"] for item in message] == [7]
    incoming = io.BytesIO(junk + GOOD)
    with pytest.raises(ProtocolError):
        list(DapMessageStream(incoming, io.BytesIO()))
    assert incoming.tell() <= len(junk), "closed at the header"


def test_truncated_message() -> None:
    assert exchange(b"Content-Length: 100\r\n\r\n{") == []
    assert exchange(b"Content-Le") == []
