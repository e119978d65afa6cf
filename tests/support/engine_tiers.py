"""The plain engine (LOOPDBG_FAST=0) has nothing that makes it fast: how tests ask for that."""

from __future__ import annotations

from typing import Any

import pytest

import loopdbg
from loopdbg.runtime.engine import engine as engines
from loopdbg.runtime.engine.engine import Engine

#: For tests of one way to be fast.
requires_optimizer = pytest.mark.skipif(
    not engines.optimizer_enabled, reason="LOOPDBG_FAST=0: the plain engine has no such way to be fast"
)
#: For tests that count what runs.
requires_unchecked_build = pytest.mark.skipif(
    engines.is_checked_build, reason="builds with bounds checks run some iterations on a plain engine as well"
)


def optimizer_of(engine: Engine) -> Any:
    """What makes an engine fast; the test ends here where nothing does."""
    if engine.optimizer is None:
        pytest.skip("LOOPDBG_FAST=0: what follows is about a way to be fast, which the plain engine has not")
    return engine.optimizer


def set_optimizer_options(engine: Engine, **knobs: Any) -> None:
    """Turn knobs of what makes an engine fast. The plain engine has none, and gives the same."""
    for name, value in knobs.items():
        if engine.optimizer is not None:
            setattr(engine.optimizer, name, value)


def start_engine(model: loopdbg.Model, inputs: dict[str, Any], *, native: bool = True, **options: Any) -> Engine:
    """A new engine at the start of a run. ``options``: those of the optimizer, if there is one."""
    engine = Engine(model.plan)
    engine.binder.native_enabled = native
    set_optimizer_options(engine, **options)
    engine.start(model.check(inputs))
    return engine


def optimizer_attribute(engine: Engine, asked: str) -> Any:
    """What an engine says of a way to be fast, for Hypothesis's events; None: it has none."""
    return None if engine.optimizer is None else getattr(engine.optimizer, asked)
