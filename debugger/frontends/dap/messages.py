"""Messages of the protocol on two byte streams: a header with the length, and JSON.

Framing is strict: an unknown header, such as those of a browser, ends the stream. A well-framed body that is no request
is ignored, so that an unexpected message does not end the session.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from ....runtime.errors import UsageError
from ..sanitize import sanitized_json

#: Limits of a header line's length, and of the number of header lines.
MAX_HEADER_BYTES, MAX_HEADER_LINES = 256, 8
#: The largest message.
MAX_BODY_BYTES = 1 << 26


class ProtocolError(UsageError):
    """The client violates the protocol; the connection must be closed."""


class DapMessageStream:
    """Both directions of a connection. One thread may read, any thread may send."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._send_lock = threading.Lock()
        self._seq = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Requests up to the end of the stream; a connection reset ends it as well.

        Raises:
            ProtocolError: a header is invalid, or a message is too large.
        """
        while (body := self._read_body()) is not None:
            message = _parse_request(body)
            if message is not None:
                yield message

    def _read_body(self) -> bytes | None:
        """The next message; None at the end of the stream."""
        try:
            length = self._read_header()
            if length is None:
                return None
            body = self._incoming.read(length)
        except OSError:
            return None
        return body if len(body) == length else None

    def _read_header(self) -> int | None:
        """The length of the next message; None at the end of the stream."""
        length: int | None = None
        lines = 0
        while line := self._incoming.readline(MAX_HEADER_BYTES):
            word = line.strip()
            if not word:
                if length is not None:
                    return length
                if lines:
                    raise ProtocolError("a message has no Content-Length")
                continue
            lines += 1
            name, colon, value = word.partition(b":")
            name = name.strip().lower()
            if not (colon and line.endswith(b"\n") and name in (b"content-length", b"content-type")):
                raise ProtocolError(f"{_printable_prefix(word)} is no header of the Debug Adapter Protocol")
            if lines > MAX_HEADER_LINES:
                raise ProtocolError(f"a message has more than {MAX_HEADER_LINES} header lines")
            if name == b"content-length":
                if length is not None:
                    raise ProtocolError("a message has two Content-Length headers")
                length = _parse_content_length(value.strip())
        return None

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a response or an event; errors are ignored, since the client may have disconnected.

        A string is one line; :class:`..sanitize.MultilineText` has several.
        """
        with self._send_lock:
            self._seq += 1
            body = sanitized_json({"seq": self._seq, **message}).encode("utf-8", "replace")
            try:
                self._outgoing.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self._outgoing.flush()
            except (OSError, ValueError):
                return

    def send_event(self, name: str, body: Mapping[str, Any] | None = None) -> None:
        """Send an event."""
        self.send({"type": "event", "event": name, **({} if body is None else {"body": body})})


def _parse_content_length(value: bytes) -> int:
    if not (value.isdigit() and len(value) < 20):
        raise ProtocolError(f"Content-Length {_printable_prefix(value)} is no number of bytes")
    if int(value) > MAX_BODY_BYTES:
        raise ProtocolError(f"a message of {int(value)} bytes is too large; {MAX_BODY_BYTES} is the most")
    return int(value)


def _printable_prefix(data: bytes) -> str:
    """The start of a client's data as printable ASCII."""
    return ascii(data[:40].decode("latin-1"))


def _parse_request(body: bytes) -> Mapping[str, Any] | None:
    """A request; None for anything else."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("type") != "request" or not isinstance(message.get("command"), str):
        return None
    return message if type(message.get("seq")) is int else None
