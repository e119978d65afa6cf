"""What the expressions that are displayed come to at a stop, and which of them came to something else before."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...debugger.expression.language import Expression, ExpressionError, NoValueError, format_value
from ...debugger.frontends.console.console import Console
from ...runtime.errors import LoopdbgError

#: Values are told in at most so many characters.
_VALUE_MAX_CHARS = 100


@dataclass(frozen=True)
class DisplayValue:
    """An expression with its value, or why it has none. ``failed``: it cannot be computed; ``absent``: what it reads
    has no value yet; ``changed``: it is another one than at the stop before."""

    number: int
    expression_text: str
    value_text: str
    failed: bool = False
    absent: bool = False
    changed: bool = False


class DisplayTracker:
    """The values of displays, compared from stop to stop. Belongs to the thread that runs the session."""

    def __init__(self) -> None:
        #: By expression and frame: at which epoch it was computed last, what it was, and whether it had changed.
        self._previous: dict[tuple[str, str], tuple[int, Hashable, bool]] = {}

    def clear(self) -> None:
        """Another run begins."""
        self._previous.clear()

    def evaluate_all(self, console: Console) -> tuple[DisplayValue, ...]:
        """The displays of a console, for the frame that its commands are about."""
        return tuple(self._evaluate(console, number, one) for number, one in console.displays.items())

    def _evaluate(self, console: Console, number: int, expression: Expression) -> DisplayValue:
        try:
            scope = console.scope
            value = expression.evaluate(scope)
            told = format_value(value, _VALUE_MAX_CHARS) + scope.iteration_remark(expression.current_names)
        except NoValueError as problem:
            return DisplayValue(number, expression.text, problem.problem, absent=True)
        except ExpressionError as problem:
            told = problem.problem + (f"; {problem.hint}" if problem.hint else "")
            return DisplayValue(number, expression.text, told, failed=True)
        except LoopdbgError as problem:
            return DisplayValue(number, expression.text, str(problem), failed=True)
        return DisplayValue(number, expression.text, told, changed=self._record_change(console, expression.text, value))

    def _record_change(self, console: Console, text: str, value: Any) -> bool:
        """Whether a value is another one than at the stop before; what moves nothing leaves that as it is."""
        key = text, console.selected_frame().path
        epoch, now = console.session._internals.epoch, _fingerprint(value)
        before = self._previous.get(key)
        changed = before is not None and (before[1] != now or (before[0] == epoch and before[2]))
        self._previous[key] = epoch, now, changed
        return changed


def _fingerprint(value: Any) -> Hashable:
    """What tells a value from others: not the value, which may be large."""
    if isinstance(value, list | tuple):
        return tuple(map(_fingerprint, value))
    if not isinstance(value, np.ndarray | np.generic):
        return type(value).__name__, repr(value)
    array = np.ascontiguousarray(value)
    data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return array.dtype.str, array.shape, hashlib.blake2b(data, digest_size=16).digest()
