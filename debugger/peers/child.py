"""Child process of a peer: answers requests on a pipe until the pipe is closed.

A message is eight bytes of length and a pickle. Output of the peer itself goes to stderr.
"""

from __future__ import annotations

import importlib
import os
import pickle
import select
import signal
import struct
import sys
import time
from collections.abc import Mapping
from typing import IO, Any, Protocol

from ...runtime.kernels.memory_guard import limit_process_memory
from .error_texts import shorten_error_message
from .jobs import Job, NodeTime, RunTimes

MESSAGE_LENGTH = struct.Struct("<Q")


class OptionError(ValueError):
    """An unknown runtime setting or value, or a device or library that the runtime cannot use."""


class CommandError(Exception):
    """A program that the peer started did not do its work. ``kind``: failed, crashed, hung."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class LoadedRuntimeModel(Protocol):
    """A model that a peer has loaded."""

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Return the outputs, in order."""

    def take_node_times(self) -> list[NodeTime]:
        """Return the times of the nodes in one run, and measure no more of them."""


class PeerRuntime(Protocol):
    """Interface of the class that each peer module names ``RUNTIME``; the constructor takes a ``RuntimeSetup``."""

    version: str
    configuration: Mapping[str, str]
    #: The precision that it would choose for float32 without settings, by its own name; empty for float32.
    usual_precision: str

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
    held_inputs: dict[int, dict[str, Any]] = {}
    while header := requests.read(MESSAGE_LENGTH.size):
        # The parent has allocated memory since.
        limit_process_memory()
        kind, number, payload = pickle.loads(requests.read(MESSAGE_LENGTH.unpack(header)[0]))
        try:
            answer: Any = None
            if kind == "start":
                module, setup = payload
                runtime = importlib.import_module(module, __package__).RUNTIME(setup)
                answer = runtime.version, runtime.configuration, runtime.usual_precision
            elif kind == "open":
                assert runtime is not None
                models[number], held_inputs[number] = runtime.open(payload), {}
            elif kind == "hold":
                held_inputs[number] = payload
            elif kind == "run":
                answer = models[number].run({**held_inputs[number], **payload})
            elif kind == "measure":
                feeds, seconds = payload
                answer = _measure_run_times(models[number], {**held_inputs[number], **feeds}, seconds)
            elif kind == "close":
                models.pop(number, None)
                held_inputs.pop(number, None)
            elif kind == "version":
                assert runtime is not None
                answer = runtime.version
            send_message(answers, ("done", answer))
        except CommandError as error:
            send_message(answers, (error.kind, str(error)))
        except Exception as error:
            # What is wrong with an option comes first, before all that there are.
            is_option = isinstance(error, OptionError)
            text = f"OptionError: {error}" if is_option else shorten_error_message(type(error).__name__, str(error))
            send_message(answers, ("failed", text))


def _measure_run_times(model: LoadedRuntimeModel, feeds: Mapping[str, Any], seconds: float) -> RunTimes:
    """Run a model for about ``seconds``, and at least twice after a first run that is not counted."""
    model.run(feeds)
    runs: list[float] = []
    while len(runs) < 2 or sum(runs) < seconds:
        start = time.perf_counter()
        model.run(feeds)
        runs.append(time.perf_counter() - start)
    return RunTimes(runs, model.take_node_times())


def kill_group_with_parent() -> None:
    """Kill the process group when the parent is gone, also if a model hangs or the peer started processes.

    A separate process watches the parent, since the peer may be busy in native code or end before its children.
    """
    if os.fork():
        return
    # An inherited copy of the answer pipe would hide the death of the peer.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    poller = select.poll()
    # Register no events: poll reports only that the other end was closed, and consumes no request.
    poller.register(0, 0)
    poller.poll()
    os.killpg(0, signal.SIGKILL)
