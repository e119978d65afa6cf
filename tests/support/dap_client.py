"""A Debug Adapter Protocol client for tests, with an adapter in this process or in a separate one."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

#: Seconds that any answer may take on a busy machine.
RESPONSE_TIMEOUT_SECONDS = 120


class DapClient:
    """Sends requests, and sorts the replies."""

    def __init__(self, answers: BinaryIO, requests: BinaryIO) -> None:
        self._answers, self._requests = answers, requests
        self._seq = 0
        self._responses: queue.Queue[dict[str, Any]] = queue.Queue()
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        #: The output of the debug console so far.
        self.console_output: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed at this end
            self._sort()

    def _sort(self) -> None:
        while line := self._answers.readline():
            length = int(line.split(b":")[1])
            self._answers.readline()
            message = json.loads(self._answers.read(length))
            if message["type"] == "response":
                self._responses.put(message)
            elif message["event"] == "output":
                self.console_output.append(message["body"]["output"])
            else:
                self.events.put(message)

    def raw(self, data: bytes) -> None:
        """Send bytes unchanged."""
        self._requests.write(data)
        self._requests.flush()

    def send(self, command: Any, arguments: Any = None) -> int:
        """Send a request; returns its number."""
        self._seq += 1
        body = json.dumps({"seq": self._seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self._seq

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request; returns its response."""
        number = self.send(command, arguments)
        answer = self._responses.get(timeout=RESPONSE_TIMEOUT_SECONDS)
        assert answer["request_seq"] == number and answer["command"] == command
        return answer

    def get(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The body of a response, which must be successful."""
        answer = self.ask(command, **arguments)
        assert answer["success"], answer["message"]
        body: dict[str, Any] = answer.get("body", {})
        return body

    def event(self, name: str) -> dict[str, Any]:
        """The next event, which must be of this type."""
        event = self.events.get(timeout=RESPONSE_TIMEOUT_SECONDS)
        assert event["event"] == name, event
        body: dict[str, Any] = event.get("body", {})
        return body

    def move(self, command: str, **arguments: Any) -> str:
        """Send a request that moves the session; returns where it stopped."""
        self.get(command, threadId=1, **arguments)
        return str(self.event("stopped")["description"])

    def launch_and_stop(self, program: str, **arguments: Any) -> str:
        """Launch, and run up to the first stop."""
        self.get("initialize", adapterID="loopdbg", supportsProgressReporting=True)
        self.get("launch", program=program, **arguments)
        self.event("initialized")
        self.get("configurationDone")
        return str(self.event("stopped")["description"])

    def scope(self, name: str, frame: int = 1) -> dict[str, str]:
        """The variables of a scope: names and texts."""
        return {child["name"]: child["value"] for child in self.children(name, frame)}

    def children(self, name: str, frame: int = 1) -> list[dict[str, Any]]:
        """The variables of a scope."""
        scopes = {item["name"]: item for item in self.get("scopes", frameId=frame)["scopes"]}
        results: list[dict[str, Any]] = self.get("variables", variablesReference=scopes[name]["variablesReference"])[
            "variables"
        ]
        return results


class DapProcess(DapClient):
    """An adapter in a separate process: ``loopdbg dap``."""

    def __init__(self, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "loopdbg", "dap", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        super().__init__(self.process.stdout, self.process.stdin)

    def close(self) -> int:
        """Disconnect; returns the exit status."""
        assert self.process.stdin is not None and self.process.stderr is not None
        self.process.stdin.close()
        status = self.process.wait(RESPONSE_TIMEOUT_SECONDS)
        self.process.stderr.close()
        return status
