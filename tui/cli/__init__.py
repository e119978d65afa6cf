"""The command line: ``loopdbg MODEL`` opens the debugger, ``loopdbg run`` and ``loopdbg info`` need no screen.

One module per subcommand. Exceptions become one line on stderr and an exit status here.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from ...runtime.errors import InterruptError, LoopdbgError, UsageError, file_error, one_line
from ...runtime.text import did_you_mean
from . import terminal
from .command import Command
from .commands.open import OpenCommand
from .commands.start import StartCommand
from .operator_files import load_operators
from .remedies import error_text
from .signal_handlers import terminate_on_signals
from .stdin_model import models_from_stdin
from .trust import check_trust


class _CommandTable(Mapping[str, Command]):
    """The subcommands by name; each is imported on demand from the module of that name."""

    _NAMES = (
        *("run", "info", "explain", "check", "diff", "repro", "convert", "export", "extract", "plot", "learn", "serve"),
        *("sweep", "dap", "mcp", "config", "completion", "demo", "samples", "profile", "precision"),
        *("invariants", "test", "optimize", "fuzz"),
    )

    def __getitem__(self, name: str) -> Command:
        if name not in self._NAMES:
            raise KeyError(name)
        command: Command = getattr(import_module(f".commands.{name}", __package__), f"{name.capitalize()}Command")()
        return command

    def __contains__(self, name: object) -> bool:
        return name in self._NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(self._NAMES)

    def __len__(self) -> int:
        return len(self._NAMES)


COMMANDS = _CommandTable()


def main(argv: Sequence[str] | None = None, loaded: Callable[[], object] = lambda: None) -> int:
    """Run a command line; returns the exit status. ``loaded`` is called after the command's imports.

    0: done; 1: a bad model or input; 2: wrong usage; 4: a limit was hit; 6: diff found a difference; 130: interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    terminal.prepare_streams()
    status = run_guarded(lambda: _run_command(arguments, loaded))
    # Flushing the buffer may fail too.
    flush_status = run_guarded(terminal.flush_stdout)
    return status or flush_status


def run_guarded(action: Callable[[], int]) -> int:
    """Run an action; an exception becomes one line on stderr and an exit status."""
    try:
        return action()
    except SystemExit as exit_:  # argparse, after printing a help text
        return exit_.code if isinstance(exit_.code, int) else 0
    except LoopdbgError as error:
        return _print_error(" ".join(error_text(error).split()), error.exit_status)
    except KeyboardInterrupt:
        return _print_error("interrupted", InterruptError.exit_status)
    except BrokenPipeError:
        return 0
    except MemoryError as error:
        from ...runtime.api_boundary import (
            convert_exception,  # imports NumPy, which most early exits do without
        )

        return _print_error(str(convert_exception(error)), 1)
    except OSError as error:
        location = f": '{error.filename}'" if error.filename is not None else ""
        return _print_error(f"{error.strerror or one_line(error)}{location}", 1)
    except Exception as error:
        hint = "" if _is_traceback_requested() else " (LOOPDBG_TRACEBACK=1 shows where; please report it)"
        return _print_error(f"internal error: {type(error).__name__}: {one_line(error)}{hint}", 1)


def _print_error(text: str, status: int) -> int:
    if _is_traceback_requested():
        traceback.print_exc()
    terminal.err(f"loopdbg: {text}")
    return status


def _is_traceback_requested() -> bool:
    return os.environ.get("LOOPDBG_TRACEBACK", "") not in ("", "0")


def _run_command(arguments: list[str], loaded: Callable[[], object]) -> int:
    command, remaining = _choose_command(arguments)
    options = command.parser().parse(remaining)
    check_trust(options, command.name == "serve")
    _check_report_path(getattr(options, "junit", None))
    command.import_implementation()
    load_operators(options)
    loaded()
    with terminate_on_signals(), models_from_stdin(options, screen=not command.name):
        return command.run(options)


def _check_report_path(path: Path | None) -> None:
    """Check before a long run that its report can be written.

    Raises:
        UsageError: It cannot.
    """
    if path is None:
        return
    from ...runtime.atomic_file import check_writable

    try:
        check_writable(path)
    except OSError as error:
        raise file_error(UsageError, path, "cannot be written", error) from None


def _choose_command(arguments: list[str]) -> tuple[Command, list[str]]:
    """The subcommand and its arguments. A file with the name of a subcommand is given as ``./run``.

    Raises:
        UsageError: There are no arguments, or the first is neither a command nor a file.
    """
    if not arguments and terminal.has_terminal():
        return StartCommand(), arguments
    if not arguments:
        raise UsageError("no model given; 'loopdbg MODEL' opens one, 'loopdbg --help' tells more")
    first = arguments[0]
    if first in COMMANDS:
        return COMMANDS[first], arguments[1:]
    if first.startswith("-"):
        command = next((word for word in arguments if word in COMMANDS and not Path(word).exists()), None)
        if command is not None:
            raise UsageError(f"the command comes first: loopdbg {command} {first} ...")
    elif Path(first).name == first and not Path(first).suffix and not Path(first).exists():
        hint = did_you_mean(first, list(COMMANDS)) or f"; commands are {', '.join(COMMANDS)}"
        raise UsageError(f"'{first}' is neither a command nor a file{hint} (loopdbg --help tells more)")
    return OpenCommand(), arguments
