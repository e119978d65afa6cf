"""Calls in a subprocess: on some invalid models the onnx package crashes or never returns."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...child_process import command_calling_function, run_child

#: Limit for CPU time, which does not depend on the load of the machine.
_CPU_LIMIT_SECONDS = 20
#: Limit for wall-clock time, also where CPU time is not limited.
_TIMEOUT_SECONDS = 600.0


def call_in_subprocess(function: Callable[[Any], Any], argument: Any) -> Any:
    """Call a module-level function in a new interpreter; None where it raised, crashed or timed out."""
    with suppress(Exception):
        request = pickle.dumps((_CPU_LIMIT_SECONDS, function, argument))
        completed = run_child(
            command_calling_function(__name__, _child_main.__name__), data=request, timeout=_TIMEOUT_SECONDS
        )
        if completed is not None and completed.returncode == 0:
            return pickle.loads(completed.stdout)
    return None


def _child_main() -> None:
    seconds, function, argument = pickle.load(sys.stdin.buffer)
    with suppress(ImportError, ValueError, OSError):  # unsupported, or the limit is already lower
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sys.stdout.buffer.write(pickle.dumps(function(argument)))
