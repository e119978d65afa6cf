"""The one place that starts child processes, and keeps them from importing what lies in the current directory.

The current directory often holds a downloaded model, and what came with it: a ``numpy.py`` there must not run. Every
child is a Python interpreter, and is started like this:

- by an argument list, never through a shell;
- with ``-P`` and ``PYTHONSAFEPATH=1``: Python does not put the current directory on the module path, neither in the
  child nor in what that starts;
- with a ``PYTHONPATH`` of absolute entries only. An empty or a relative entry (``.``, or the colon of ``:/opt/lib``)
  names the current directory or a part of it, and Python would run its ``sitecustomize.py`` at start-up. An absolute
  entry was chosen by the user, and stays;
- with ``-E`` and ``-s`` where this interpreter has them;
- in the working directory of this process unless told otherwise, since paths of models may be relative to it.

Children are started by: ``frontends/onnx/subprocess_call.py`` (inference of the onnx package),
``debugger/peers/process.py`` (runtimes of ``diff``), ``debugger/sweep/worker.py`` (cases of a sweep, also on the
workers of a Dask cluster), ``debugger/reduce/repro/repro_folder.py`` (scripts of ``repro``) and
``tui/cli/servers/web_pages.py`` (pages of ``serve``). The test ``tests/unit/test_child_processes.py`` fails where
another module starts one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# subprocess and asyncio are imported late: the command line imports this module first of all.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio.subprocess
    from subprocess import CompletedProcess, Popen
    from typing import Any

_CALL_TEMPLATE = (
    "import os, sys; sys.path += sys.argv.pop(1).split(os.pathsep); from {} import {} as entry; sys.exit(entry())"
)


def isolate_children() -> None:
    """Give this process the environment of its children, for what libraries start. For the command line, not for the
    program of a user: its environment is its own affair."""
    found = child_environment()
    if "PYTHONPATH" not in found:
        os.environ.pop("PYTHONPATH", None)
    os.environ.update(found)


def child_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: that of this process, with an isolated module path, and ``more`` variables."""
    found = {**os.environ, **(more or {}), "PYTHONSAFEPATH": "1"}
    entries = [entry for entry in found.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    if entries:
        found["PYTHONPATH"] = os.pathsep.join(entries)
    return found


def python_command(*arguments: str, python: str = "") -> list[str]:
    """The argument list of an isolated interpreter; ``python``: another one than that of this process."""
    flags = ["-P"]
    if sys.flags.ignore_environment:
        flags.append("-E")
    if sys.flags.no_user_site:
        flags.append("-s")
    return [python or sys.executable, *flags, *arguments]


def call_command(module: str, function: str, *arguments: str) -> list[str]:
    """The argument list of an interpreter that calls a function, and exits with the status that this returns, if any;
    ``arguments``: its ``sys.argv[1:]``.

    It finds this package, and after its own modules those of the absolute entries of this process's module path.
    """
    return python_command("-c", _CALL_TEMPLATE.format(module, function), os.pathsep.join(_module_path()), *arguments)


def start_child(command: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any) -> Popen[bytes]:
    """Start a child, with pipes to its input and output, in a session of its own: Ctrl-C in the terminal is for this
    program, which then ends the child.

    Args:
        command: from :func:`python_command` or :func:`call_command`.
        env: variables beside those of this process.
        options: for ``subprocess.Popen``, such as ``stderr``.

    Raises:
        OSError: it cannot be started.
    """
    from subprocess import PIPE, Popen

    return Popen(command, stdin=PIPE, stdout=PIPE, env=child_environment(env), start_new_session=True, **options)


def run_child(
    command: Sequence[str], *, data: bytes = b"", timeout: float, cwd: Path | None = None
) -> CompletedProcess[bytes] | None:
    """Run a child to its end with ``data`` as its input; its outputs are captured. None: it was ended by the timeout.

    Raises:
        OSError: it cannot be started.
    """
    import subprocess

    try:
        return subprocess.run(
            command, input=data, capture_output=True, timeout=timeout, cwd=cwd, env=child_environment(), check=False
        )
    except subprocess.TimeoutExpired:
        return None


async def start_child_async(
    command: Sequence[str], *, env: Mapping[str, str], **options: Any
) -> asyncio.subprocess.Process:
    """Start a child of an event loop, with pipes to its input and outputs.

    Args:
        command: from :func:`python_command` or :func:`call_command`.
        env: variables beside those of this process.
        options: for ``subprocess.Popen``.

    Raises:
        OSError: it cannot be started.
    """
    from asyncio.subprocess import PIPE, create_subprocess_exec

    return await create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=child_environment(env), **options
    )


def _module_path() -> list[str]:
    """The entries of this process's module path that a child may have: absolute, and not the current directory.

    The folder of this package is always one of them.
    """
    package = str(Path(__file__).parents[2])
    try:
        here = os.getcwd()
    except OSError:  # it was removed
        here = ""
    found = (entry for entry in sys.path if os.path.isabs(entry) and entry != here and os.pathsep not in entry)
    return list(dict.fromkeys([package, *found]))
