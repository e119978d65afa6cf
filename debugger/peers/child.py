"""The process that a peer runs in: it answers requests on a pipe until that is closed.

A message is eight bytes of length and a pickle. What the peer itself prints goes to stderr.
"""

from __future__ import annotations

import importlib
import os
import pickle
import struct
import sys
import threading
import time
from collections.abc import Mapping
from typing import IO, Any, Protocol

from .jobs import Job

LENGTH = struct.Struct("<Q")


class Runnable(Protocol):
    """A model that a peer has loaded."""

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs, in order."""


class Runtime(Protocol):
    """What a module of this package offers under the name ``Runtime``."""

    version: str

    def open(self, job: Job) -> Runnable:
        """Load a model."""


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def main() -> None:
    """Serve the peer that the first message names."""
    _end_with_the_parent()
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    runtime: Runtime | None = None
    models: dict[int, Runnable] = {}
    held: dict[int, dict[str, Any]] = {}
    while header := requests.read(LENGTH.size):
        what, number, given = pickle.loads(requests.read(LENGTH.unpack(header)[0]))
        try:
            answer: Any = None
            if what == "start":
                runtime = importlib.import_module(given, __package__).Runtime()
                answer = runtime.version
            elif what == "open":
                assert runtime is not None
                models[number], held[number] = runtime.open(given), {}
            elif what == "hold":
                held[number] = given
            elif what == "run":
                answer = models[number].run({**held[number], **given})
            elif what == "close":
                models.pop(number, None)
                held.pop(number, None)
            send(answers, ("done", answer))
        except Exception as error:
            send(answers, ("failed", f"{type(error).__name__}: {error}"))


def _end_with_the_parent() -> None:
    """A model that never comes back would outlive a program that is killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
