"""Values of the displayed expressions at a stop, and which of them changed since the previous stop."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...debugger.expression.expression import Expression, ExpressionError, NoValueError, format_value
from ...debugger.frontends.console.console import Console
from ...runtime.errors import LoopdbgError

#: Longest text of a value.
_VALUE_MAX_CHARS = 100


@dataclass(frozen=True)
class EvaluatedDisplay:
    """An expression with its value or an error message. ``failed``: it cannot be computed; ``absent``: an operand has
    no value yet; ``changed``: the value differs from that of the previous stop."""

    number: int
    expression_text: str
    value_text: str
    failed: bool = False
    absent: bool = False
    changed: bool = False


class DisplayTracker:
    """Compares displayed values from stop to stop. Used in the session's thread only."""

    def __init__(self) -> None:
        #: By expression and frame path: epoch of the last evaluation, fingerprint, changed flag.
        self._previous: dict[tuple[str, str], tuple[int, Hashable, bool]] = {}

    def clear(self) -> None:
        """Forget all values; a new run starts."""
        self._previous.clear()

    def evaluate_all(self, console: Console) -> tuple[EvaluatedDisplay, ...]:
        """The displays of a console, evaluated in its selected frame."""
        return tuple(self._evaluate(console, number, expression) for number, expression in console.displays.items())

    def _evaluate(self, console: Console, number: int, expression: Expression) -> EvaluatedDisplay:
        try:
            scope = console.scope
            value = expression.evaluate(scope)
            text = format_value(value, _VALUE_MAX_CHARS) + scope.iteration_remark(expression.current_names)
        except NoValueError as problem:
            return EvaluatedDisplay(number, expression.text, problem.problem, absent=True)
        except ExpressionError as problem:
            text = problem.problem + (f"; {problem.hint}" if problem.hint else "")
            return EvaluatedDisplay(number, expression.text, text, failed=True)
        except LoopdbgError as problem:
            return EvaluatedDisplay(number, expression.text, str(problem), failed=True)
        return EvaluatedDisplay(
            number, expression.text, text, changed=self._has_changed_since_stop(console, expression.text, value)
        )

    def _has_changed_since_stop(self, console: Console, text: str, value: Any) -> bool:
        """Whether a value changed since the previous stop; evaluating again in the same epoch keeps the answer."""
        key = text, console.selected_frame().path
        epoch, fingerprint = console.session.controller.epoch, _fingerprint(value)
        previous = self._previous.get(key)
        changed = previous is not None and (previous[1] != fingerprint or (previous[0] == epoch and previous[2]))
        self._previous[key] = epoch, fingerprint, changed
        return changed


def _fingerprint(value: Any) -> Hashable:
    """A hash of a value; the value itself may be large."""
    if isinstance(value, list | tuple):
        return tuple(map(_fingerprint, value))
    if not isinstance(value, np.ndarray | np.generic):
        return type(value).__name__, repr(value)
    array = np.ascontiguousarray(value)
    data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return array.dtype.str, array.shape, hashlib.blake2b(data, digest_size=16).digest()
