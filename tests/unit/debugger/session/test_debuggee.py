"""What a debuggee cannot do it refuses, in one way; the two that there are can do the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loopdbg.debugger.breakpoints.places import Places
from loopdbg.debugger.session.debuggee import Debuggee
from loopdbg.debugger.session.inside import Inside
from loopdbg.debugger.session.stop import Stop
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.model import Data
from models import COUNT, model


class Picture(Inside):
    """What stands in front of a model and can do nothing."""

    why_not = "this is a picture of a model"

    def __init__(self) -> None:
        loaded = model(COUNT)
        super().__init__(loaded, Places(loaded.graph), {})

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

    def at_boundary(self) -> bool:
        return False

    def here(self) -> int:
        return 0

    def _ask_to_stop(self) -> None:
        raise NotImplementedError

    def _forget_to_stop(self) -> None:
        pass

    def where(self) -> Stop:
        return self.stop


class Nothing(Debuggee):
    """A debuggee that has its commands from nowhere."""

    def __init__(self) -> None:
        super().__init__(Picture())


COMMANDS: list[Callable[[Debuggee], object]] = [
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
    lambda d: d._inside.timeline,
    lambda d: d.side_by_side(None, None),  # type: ignore[arg-type]
    lambda d: d._inside.node_here(),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_everything_is_refused_with_the_reason(command: Callable[[Debuggee], object]) -> None:
    with pytest.raises(UsageError, match="is not possible: this is a picture of a model"):
        command(Nothing())


def test_breakpoints_are_set_on_any() -> None:
    nothing = Nothing()
    assert nothing.breakpoints.add("iter 3").loops == (0,)
    assert not nothing._inside.is_slow(nothing.breakpoints[0])
    nothing.breakpoints.clear()
    nothing.interrupt()
    nothing._inside.log("said")
    assert nothing.logged == ["said"]
