"""Entry point of the command line: ``loopdbg`` and ``python -m loopdbg``."""

from __future__ import annotations

try:
    import os
    import sys

    def _leave_current_directory() -> None:
        """Remove the current directory from the module path: files next to a model there must not be imported.

        ``python -m`` adds it, and an empty or relative entry of PYTHONPATH refers to it. Earlier imports by Python
        cannot be prevented: a loopdbg.py with ``python -m`` (not with ``python -P -m``), a sitecustomize.py with such a
        PYTHONPATH.
        """
        try:
            current_directory = os.getcwd()
        except OSError:  # it was removed, and is not on the module path
            return
        if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] == current_directory:
            del sys.path[0]
        python_path = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
        for entry in python_path.split(os.pathsep) if python_path else ():
            if not os.path.isabs(entry) and (absolute := os.path.abspath(entry)) in sys.path:
                sys.path.remove(absolute)

    # Before the next import; os and sys are already loaded by the interpreter.
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
    # During imports, exit directly on Ctrl-C: a KeyboardInterrupt there cannot be handled cleanly (it breaks the import
    # of NumPy), and nothing needs cleanup yet.
    handler = signal.getsignal(signal.SIGINT)
    is_default_handler = handler is signal.default_int_handler
    if is_default_handler:
        signal.signal(signal.SIGINT, _exit_on_interrupt)
    if argv is None:
        if __name__ != "__main__":  # called by the script that pip installs
            _leave_current_directory()
        from .runtime.child_process import apply_child_environment

        apply_child_environment()
    from .tui.cli import main as run

    def on_loaded() -> None:
        memory = sys.modules.get(f"{__package__}.runtime.kernels.memory_guard")
        if argv is None and memory is not None:
            memory.limit_process_memory()
        if is_default_handler:
            signal.signal(signal.SIGINT, handler)

    try:
        return run(argv, on_loaded)
    except KeyboardInterrupt:
        return 130
    finally:
        if is_default_handler:
            # Exit directly as a program; restore the handler otherwise.
            signal.signal(signal.SIGINT, _exit_on_interrupt if argv is None else handler)


def _exit_on_interrupt(number: int, frame: FrameType | None) -> None:
    os.write(2, b"loopdbg: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
