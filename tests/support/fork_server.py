"""Calls in fresh processes: each in a child that is forked by a server which has only imported modules.

``python fork_server.py MODULES`` is the server, which imports these first; it speaks pickle over its standard streams.
"""

from __future__ import annotations

import importlib
import os
import pickle
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO


class ChildCrashedError(AssertionError):
    """A call ended its process."""


class ForkServer:
    """Runs functions of modules, each call in a separate process that has imported only ``modules``.

    >>> with ForkServer("numpy", "run_sequences") as server:
    ...     server.call(run_sequences.run_on_new_model, program, run)
    """

    def __init__(self, *modules: str) -> None:
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__)), *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a call.

        Raises:
            ChildCrashedError: the call raised an exception, or a signal ended its process.
        """
        assert self._server.stdin is not None and self._server.stdout is not None
        _write(self._server.stdin, pickle.dumps((function.__module__, function.__name__, arguments)))
        message, value = pickle.loads(_read(self._server.stdout))
        if message != "gave":
            raise ChildCrashedError(value)
        return value

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def call_in_directory(folder: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """For ``ForkServer.call``: a call in another working directory than the server's."""
    os.chdir(folder)
    return function(*arguments)


def _write(stream: BinaryIO | Any, data: bytes) -> None:
    stream.write(struct.pack("<q", len(data)) + data)
    stream.flush()


def _read(stream: BinaryIO | Any) -> bytes:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (size,) = struct.unpack("<q", head)
    data: bytes = stream.read(size)
    return data


def call_in_fork(function: Callable[[], Any]) -> tuple[str, Any]:
    """Call in a forked child; returns the result, or how the child ended."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        try:
            answer = "gave", function()
        except BaseException:
            answer = "raised", traceback.format_exc()
        with os.fdopen(writes, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed", f"ended by signal {os.WTERMSIG(status)}"
    messages: tuple[str, Any] = pickle.loads(data)
    return messages


def _serve() -> None:
    for name in sys.argv[1:]:
        importlib.import_module(name)
    # Output that any library prints must not mix with the answers.
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            module, name, arguments = pickle.loads(_read(stdin))
        except EOFError:
            return
        function = getattr(importlib.import_module(module), name)
        _write(stdout, pickle.dumps(call_in_fork(lambda f=function, a=arguments: f(*a))))  # type: ignore[misc]


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1]))  # the parent folder of the package strategies
    _serve()
