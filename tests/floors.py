"""The plain engine (LOOPDBG_FAST=0) has nothing that makes it fast: how tests ask for that."""

from __future__ import annotations

from typing import Any

import pytest

from loopdbg.runtime.engine import engine as engines
from loopdbg.runtime.engine.engine import Engine

#: For tests of one way to be fast.
needs_fast = pytest.mark.skipif(not engines.fast, reason="LOOPDBG_FAST=0: the plain engine has no such way to be fast")
#: For tests that count what runs.
runs_once = pytest.mark.skipif(
    engines.checked, reason="builds with bounds checks run some iterations on a plain engine as well"
)


def fast(engine: Engine) -> Any:
    """What makes an engine fast; the test ends here where nothing does."""
    if engine.fast is None:
        pytest.skip("LOOPDBG_FAST=0: what follows is about a way to be fast, which the plain engine has not")
    return engine.fast


def turn(engine: Engine, **knobs: Any) -> None:
    """Turn knobs of what makes an engine fast. The plain engine has none, and gives the same."""
    for name, value in knobs.items():
        if engine.fast is not None:
            setattr(engine.fast, name, value)


def says(engine: Engine, asked: str) -> Any:
    """What an engine says of a way to be fast, for Hypothesis's events; None: it has none."""
    return None if engine.fast is None else getattr(engine.fast, asked)
