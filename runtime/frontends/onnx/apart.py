"""Calls in a process of their own: over some wrong models the onnx package ends the one it runs in, or never ends."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: So many seconds are waited.
_PATIENCE = 20


def apart(function: Callable[[Any], Any], given: Any) -> Any:
    """What a function of a module gives, by a new interpreter; None where it raised, crashed or took too long."""
    program = f"from {__name__} import _answer; _answer()"
    with suppress(Exception):
        told = subprocess.run(
            [sys.executable, "-P", "-c", program],
            input=pickle.dumps((function, given)),
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
        )
        return pickle.loads(told.stdout)
    return None


def _answer() -> None:
    function, given = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(function(given)))
