"""``loopdbg`` and ``python -m loopdbg``: the command line, from its first moment on."""

from __future__ import annotations

try:
    import os
    import sys

    def _leave_current_directory() -> None:
        """Take the current directory off the module path: files beside a model there are not to be imported.

        ``python -m`` puts it first, and an empty or a relative entry of PYTHONPATH names it. What Python has imported
        before this cannot be prevented: with ``python -m`` a loopdbg.py (not so with ``python -P -m``), with such a
        PYTHONPATH a sitecustomize.py.
        """
        try:
            here = os.getcwd()
        except OSError:  # it was removed, and Python has not put it there
            return
        if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] == here:
            del sys.path[0]
        given = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
        for entry in given.split(os.pathsep) if given else ():
            if not os.path.isabs(entry) and (absolute := os.path.abspath(entry)) in sys.path:
                sys.path.remove(absolute)

    # Before the next import. Of os and sys the interpreter has its own.
    if __name__ == "__main__":
        _leave_current_directory()
    import signal
except KeyboardInterrupt:
    raise SystemExit(130) from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    # Ctrl-C raises an exception wherever the program is. Half-way through imports nothing can catch it well (of NumPy
    # what is left is another error), and there is nothing yet to be put in order.
    handler = signal.getsignal(signal.SIGINT)
    ours = handler is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _exit_on_interrupt)
    if argv is None:
        if __name__ != "__main__":  # by the script that pip installs
            _leave_current_directory()
        from .runtime.child_process import isolate_children

        isolate_children()
    from .tui.cli import main as run

    def loaded() -> None:
        memory = sys.modules.get(f"{__package__}.runtime.kernels.memory_guard")
        if argv is None and memory is not None:
            memory.limit_process_memory()
        if ours:
            signal.signal(signal.SIGINT, handler)

    try:
        return run(argv, loaded)
    except KeyboardInterrupt:
        return 130
    finally:
        if ours:
            # As a program of its own it now leaves; else it gives back what it found.
            signal.signal(signal.SIGINT, _exit_on_interrupt if argv is None else handler)


def _exit_on_interrupt(number: int, frame: FrameType | None) -> None:
    os.write(2, b"loopdbg: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
