"""``loopdbg`` and ``python -m loopdbg``: the command line, from its first moment on."""

from __future__ import annotations

try:
    import os
    import signal
    import sys
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
        signal.signal(signal.SIGINT, _leave)
    from .tui.cli import main as run

    def loaded() -> None:
        if ours:
            signal.signal(signal.SIGINT, handler)

    try:
        return run(argv, loaded)
    except KeyboardInterrupt:
        return 130
    finally:
        if ours:
            # As a program of its own it now leaves; else it gives back what it found.
            signal.signal(signal.SIGINT, _leave if argv is None else handler)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"loopdbg: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
