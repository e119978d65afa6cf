"""The baseline engine (LOOPDBG_FAST=0) has no optimizer: helpers with which tests take that into account."""

from __future__ import annotations

from typing import Any

import pytest

import loopdbg
from loopdbg.runtime.engine import engine as engines
from loopdbg.runtime.engine.engine import Engine

#: Marks tests of one optimization.
requires_optimizer = pytest.mark.skipif(
    not engines.optimizer_enabled, reason="LOOPDBG_FAST=0: the plain engine has no such way to be fast"
)
#: Marks tests that count executed calls.
requires_unchecked_build = pytest.mark.skipif(
    engines.is_checked_build, reason="builds with bounds checks run some iterations on a plain engine as well"
)


def optimizer_of(engine: Engine) -> Any:
    """The optimizer of an engine; skips the test if it has none."""
    if engine.optimizer is None:
        pytest.skip("LOOPDBG_FAST=0: what follows is about a way to be fast, which the plain engine has not")
    return engine.optimizer


def set_optimizer_options(engine: Engine, **knobs: Any) -> None:
    """Set options of an engine's optimizer. The baseline engine has none, and gives the same results."""
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
    """An attribute of an engine's optimizer, for Hypothesis's events; None without an optimizer."""
    return None if engine.optimizer is None else getattr(engine.optimizer, asked)
