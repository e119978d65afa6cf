"""Starts child processes, isolated from modules in the current directory.

The current directory often contains a downloaded model with accompanying files: a ``numpy.py`` there must not run.
Every child is a Python interpreter or a program that the user named, started as follows:

- by an argument list, never through a shell;
- with ``-P`` and ``PYTHONSAFEPATH=1``: Python does not add the current directory to the module path, neither in the
  child nor in its children;
- with only the absolute entries of ``PYTHONPATH``. An empty or relative entry (``.``, or the colon of ``:/opt/lib``)
  refers to the current directory, and Python would run a ``sitecustomize.py`` there at start-up. Absolute entries
  were chosen by the user, and are kept;
- with ``-E`` and ``-s`` if this interpreter has them;
- by default in the working directory of this process, since paths of models may be relative to it.

Children are started by: ``frontends/onnx/subprocess_call.py`` (inference of the onnx package),
``debugger/peers/process.py`` (runtimes of ``diff``), ``debugger/peers/external_program.py`` and
``debugger/reduce/interestingness.py`` (programs that the user named), ``debugger/sweep/worker_handle.py`` (cases of a
sweep, also on the workers of a Dask cluster), ``debugger/reduce/repro/repro_folder.py`` (scripts of ``repro``) and
``tui/cli/servers/page_processes.py`` (pages of ``serve``). The test ``tests/unit/test_child_processes.py`` fails if
another module starts one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# subprocess and asyncio are imported lazily: the command line imports this module first.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio.subprocess
    from subprocess import CompletedProcess, Popen
    from typing import Any

_CALL_TEMPLATE = (
    "import os, sys; sys.path += sys.argv.pop(1).split(os.pathsep); from {} import {} as entry; sys.exit(entry())"
)


def apply_child_environment() -> None:
    """Apply the environment of children to this process, for children started by libraries. For the command line only,
    not for user programs."""
    environment = child_environment()
    if "PYTHONPATH" not in environment:
        os.environ.pop("PYTHONPATH", None)
    os.environ.update(environment)


def child_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: that of this process with an isolated module path and ``more`` variables."""
    environment = {**os.environ, **(more or {}), "PYTHONSAFEPATH": "1"}
    entries = [entry for entry in environment.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    if entries:
        environment["PYTHONPATH"] = os.pathsep.join(entries)
    return environment


def python_command(*arguments: str) -> list[str]:
    """The argument list of an isolated interpreter."""
    flags = ["-P"]
    if sys.flags.ignore_environment:
        flags.append("-E")
    if sys.flags.no_user_site:
        flags.append("-s")
    return [sys.executable, *flags, *arguments]


def command_calling_function(module: str, function: str, *arguments: str) -> list[str]:
    """The argument list of an interpreter that calls a function and exits with its result as status;
    ``arguments``: its ``sys.argv[1:]``.

    Its module path is extended by this package and the absolute entries of this process's module path.
    """
    return python_command("-c", _CALL_TEMPLATE.format(module, function), os.pathsep.join(_module_path()), *arguments)


def start_child(command: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any) -> Popen[bytes]:
    """Start a child with pipes to its input and output in a separate session: only this process receives Ctrl-C of the
    terminal, and ends the child then.

    Args:
        command: from :func:`python_command` or :func:`command_calling_function`.
        env: additional environment variables.
        options: for ``subprocess.Popen``, such as ``stderr``.

    Raises:
        OSError: it cannot be started.
    """
    from subprocess import PIPE, Popen

    return Popen(command, stdin=PIPE, stdout=PIPE, env=child_environment(env), start_new_session=True, **options)


def run_child(
    command: Sequence[str], *, data: bytes = b"", timeout: float, cwd: Path | None = None
) -> CompletedProcess[bytes] | None:
    """Run a child to its end with ``data`` as its input and capture its outputs. None: it timed out.

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
        command: from :func:`python_command` or :func:`command_calling_function`.
        env: additional environment variables.
        options: for ``subprocess.Popen``.

    Raises:
        OSError: it cannot be started.
    """
    from asyncio.subprocess import PIPE, create_subprocess_exec

    return await create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=child_environment(env), **options
    )


def _module_path() -> list[str]:
    """The module path entries for a child: absolute, and not the current directory.

    They include the folder of this package.
    """
    package = str(Path(__file__).parents[2])
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = ""
    entries = (entry for entry in sys.path if os.path.isabs(entry) and entry != cwd and os.pathsep not in entry)
    return list(dict.fromkeys([package, *entries]))
