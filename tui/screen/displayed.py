"""What the expressions that are displayed come to at a stop, and which of them came to something else before."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...debugger.console.console import Console
from ...debugger.expression.language import Expression, ExpressionError, NoValueError, show
from ...runtime.errors import LoopdbgError

#: Values are told in at most so many characters.
_WIDTH = 100


@dataclass(frozen=True)
class Displayed:
    """An expression with its value, or why it has none. ``failed``: it cannot be computed; ``absent``: what it reads
    has no value yet; ``changed``: it is another one than at the stop before."""

    number: int
    text: str
    told: str
    failed: bool = False
    absent: bool = False
    changed: bool = False


class SeenDisplays:
    """The values of displays, compared from stop to stop. Belongs to the thread that runs the session."""

    def __init__(self) -> None:
        #: By expression and frame: at which epoch it was computed last, what it was, and whether it had changed.
        self._seen: dict[tuple[str, str], tuple[int, Hashable, bool]] = {}

    def clear(self) -> None:
        """Another run begins."""
        self._seen.clear()

    def look(self, console: Console) -> tuple[Displayed, ...]:
        """The displays of a console, for the frame that its commands are about."""
        return tuple(self._one(console, number, one) for number, one in console.displays.items())

    def _one(self, console: Console, number: int, expression: Expression) -> Displayed:
        try:
            scope = console.scope
            value = expression.evaluate(scope)
            told = show(value, _WIDTH) + scope.remark(expression.present)
        except NoValueError as problem:
            return Displayed(number, expression.text, problem.problem, absent=True)
        except ExpressionError as problem:
            told = problem.problem + (f"; {problem.hint}" if problem.hint else "")
            return Displayed(number, expression.text, told, failed=True)
        except LoopdbgError as problem:
            return Displayed(number, expression.text, str(problem), failed=True)
        return Displayed(number, expression.text, told, changed=self._changed(console, expression.text, value))

    def _changed(self, console: Console, text: str, value: Any) -> bool:
        """Whether a value is another one than at the stop before; what moves nothing leaves that as it is."""
        key = text, console.selected_frame().path
        epoch, now = console.session._inside.epoch, _print_of(value)
        before = self._seen.get(key)
        changed = before is not None and (before[1] != now or (before[0] == epoch and before[2]))
        self._seen[key] = epoch, now, changed
        return changed


def _print_of(value: Any) -> Hashable:
    """What tells a value from others: not the value, which may be large."""
    if isinstance(value, list | tuple):
        return tuple(map(_print_of, value))
    if not isinstance(value, np.ndarray | np.generic):
        return type(value).__name__, repr(value)
    array = np.ascontiguousarray(value)
    data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return array.dtype.str, array.shape, hashlib.blake2b(data, digest_size=16).digest()
