"""The process that a peer runs in: it answers requests on a pipe until that is closed.

A message is eight bytes of length and a pickle. What the peer itself prints goes to stderr.
"""

from __future__ import annotations

import importlib
import os
import pickle
import select
import signal
import struct
import sys
from collections.abc import Mapping
from typing import IO, Any, Protocol

from ...runtime.kernels.memory_guard import limit_process_memory
from .jobs import Job

MESSAGE_LENGTH = struct.Struct("<Q")


class OptionError(ValueError):
    """A setting that a runtime does not have, or not with that value; a device or a library that it cannot use."""


class LoadedRuntimeModel(Protocol):
    """A model that a peer has loaded."""

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs, in order."""


class PeerRuntime(Protocol):
    """What a module of this package offers under the name ``Runtime``: a class that is made with a ``Setup``."""

    version: str
    configuration: Mapping[str, str]

    def open(self, job: Job) -> LoadedRuntimeModel:
        """Load a model."""


def send_message(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(MESSAGE_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def main() -> None:
    """Serve the peer that the first message names."""
    kill_group_with_parent()
    limit_process_memory()
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    runtime: PeerRuntime | None = None
    models: dict[int, LoadedRuntimeModel] = {}
    held: dict[int, dict[str, Any]] = {}
    while header := requests.read(MESSAGE_LENGTH.size):
        # The program that asks has taken memory since.
        limit_process_memory()
        what, number, given = pickle.loads(requests.read(MESSAGE_LENGTH.unpack(header)[0]))
        try:
            answer: Any = None
            if what == "start":
                module, setup = given
                runtime = importlib.import_module(module, __package__).Runtime(setup)
                answer = runtime.version, runtime.configuration
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
            send_message(answers, ("done", answer))
        except Exception as error:
            send_message(answers, ("failed", f"{type(error).__name__}: {error}"))


def kill_group_with_parent() -> None:
    """Once the program that asks is gone, however it ended, nothing of this group of processes is left: neither a model
    that never comes back nor what the peer itself started.

    A process of its own sees to that, since a peer may be deep in its own code, and may be gone before what it started.
    """
    if os.fork():
        return
    # What it held open of the pipe for answers would hide that the peer has died.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    gone = select.poll()
    # No event is asked for: only that the other end was closed is told, and no request is taken from the peer.
    gone.register(0, 0)
    gone.poll()
    os.killpg(0, signal.SIGKILL)
