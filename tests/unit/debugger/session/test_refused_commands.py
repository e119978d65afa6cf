"""Unsupported operations of a debuggee are refused in one way; both real debuggees support the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loopdbg.debugger.breakpoints.symbol_table import SymbolTable
from loopdbg.debugger.session.controller import Controller
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.session.stop import Stop
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.model import Data
from text_models import COUNT, model


class StaticSession(Controller):
    """A debuggee with a model and no capabilities."""

    refusal_reason = "this is a picture of a model"

    def __init__(self) -> None:
        loaded = model(COUNT)
        super().__init__(loaded, SymbolTable(loaded.graph), {})

    running = False
    epoch = 0
    outputs: dict[str, Data] | None = None
    totals: Any = ()
    progress: Any = None
    position: tuple[int, ...] = ()
    frames: Any = ()

    @property
    def frame(self) -> Any:
        raise NotImplementedError

    def is_at_boundary(self) -> bool:
        return False

    def current_loop_index(self) -> int:
        return 0

    def _request_interrupt(self) -> None:
        raise NotImplementedError

    def _clear_interrupt(self) -> None:
        pass

    def current_stop(self) -> Stop:
        return self.stop


class UnnamedSession(Session):
    """A debuggee that inherits no commands."""

    def __init__(self) -> None:
        self.controller = StaticSession()


COMMANDS: list[Callable[[Session], object]] = [
    lambda d: d.restart(),
    lambda d: d.step(),
    lambda d: d.next_node(),
    lambda d: d.into(),
    lambda d: d.finish(),
    lambda d: d.until(3),
    lambda d: d.continue_(),
    lambda d: d.back(),
    lambda d: d.back_node(),
    lambda d: d.goto(1),
    lambda d: d.reverse_continue(),
    lambda d: d.set("v_in", 1),
    lambda d: d.assign("v_in = 1"),
    lambda d: d.undo(),
    lambda d: d.switch(1),
    lambda d: d.branches,
    lambda d: d.branch,
    lambda d: d.controller.timeline,
    lambda d: d.side_by_side(None, None),  # type: ignore[arg-type]
    lambda d: d.controller.next_node_to_run(),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_unsupported_operations_are_refused_with_the_reason(command: Callable[[Session], object]) -> None:
    with pytest.raises(UsageError, match="is not possible: this is a picture of a model"):
        command(UnnamedSession())


def test_breakpoints_can_be_set_on_any_debuggee() -> None:
    nothing = UnnamedSession()
    assert nothing.breakpoints.add("iter 3").loops == (0,)
    assert not nothing.controller.is_tested_in_python(nothing.breakpoints[0])
    nothing.breakpoints.clear()
    nothing.interrupt()
    nothing.controller.emit_log("logged_text")
    assert nothing.logged == ["logged_text"]
