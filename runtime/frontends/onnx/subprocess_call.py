"""Calls in a process of their own: over some wrong models the onnx package ends the one it runs in, or never ends."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...child_process import call_command, run_child

#: So many seconds of a processor it may take: of them a busy machine gives fewer, and that is no sign of anything.
_CPU_LIMIT_SECONDS = 20
#: So many seconds are waited, whatever it does: also where no processor time is counted.
_TIMEOUT_SECONDS = 600.0


def call_in_subprocess(function: Callable[[Any], Any], given: Any) -> Any:
    """What a function of a module gives, by a new interpreter; None where it raised, crashed or took too long."""
    with suppress(Exception):
        request = pickle.dumps((_CPU_LIMIT_SECONDS, function, given))
        done = run_child(call_command(__name__, _child_main.__name__), data=request, timeout=_TIMEOUT_SECONDS)
        if done is not None and done.returncode == 0:
            return pickle.loads(done.stdout)
    return None


def _child_main() -> None:
    seconds, function, given = pickle.load(sys.stdin.buffer)
    with suppress(ImportError, ValueError, OSError):  # not every system counts, and some allow less already
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sys.stdout.buffer.write(pickle.dumps(function(given)))
