"""Messages of the protocol on a pair of byte streams: a header with the length, and JSON.

What does not follow the protocol is left out: an editor that sends one odd message keeps its session.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

#: No header line and no message has more bytes.
_MOST_HEADER, _MOST = 1 << 12, 1 << 26
_LENGTH = b"content-length:"


class Messages:
    """Both directions. Reading is for one thread, sending for any."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._sending = threading.Lock()
        self._seq = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Requests, to the end of the stream."""
        while (length := self._length()) is not None:
            body = self._incoming.read(length)
            if len(body) < length:
                return
            message = _parsed(body)
            if message is not None:
                yield message

    def _length(self) -> int | None:
        """The length of the next message; None at the end of the stream."""
        length: int | None = None
        while True:
            line = self._incoming.readline(_MOST_HEADER)
            if not line:
                return None
            word = line.strip()
            if word.lower().startswith(_LENGTH):
                number = word[len(_LENGTH) :].strip()
                length = int(number) if number.isdigit() and len(number) < 10 else None
            elif not word and length is not None:
                if length <= _MOST:
                    return length
                self._skip(length)
                length = None

    def _skip(self, length: int) -> None:
        while length and (part := self._incoming.read(min(length, 1 << 20))):
            length -= len(part)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a response or an event; who reads may be gone, and then nobody misses it."""
        with self._sending:
            self._seq += 1
            body = json.dumps({"seq": self._seq, **message}, ensure_ascii=False).encode("utf-8", "replace")
            try:
                self._outgoing.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self._outgoing.flush()
            except (OSError, ValueError):
                return

    def event(self, name: str, body: Mapping[str, Any] | None = None) -> None:
        """Send an event."""
        self.send({"type": "event", "event": name, **({} if body is None else {"body": body})})


def _parsed(body: bytes) -> Mapping[str, Any] | None:
    """A request; None for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("type") != "request" or not isinstance(found.get("command"), str):
        return None
    return found if type(found.get("seq")) is int else None
