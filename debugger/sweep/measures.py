"""Measures at the end of loops: one number for each expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime.errors import ExecutionError
from ...runtime.model import Model
from ..breakpoints.symbol_table import SymbolTable
from ..expression.expression import NoValueError, parse
from ..scope.frame_scope import FrameScope
from .expression_loops import loops_with_values
from .job import MAIN_GRAPH


class MeasureSet:
    """The measures of a model. ``loops``: loops with values for a measure; ``in_main``: the main graph has some;
    ``uses_history``: a measure reads other iterations.

    Raises:
        UsageError: a measure has no values anywhere.
    """

    def __init__(self, model: Model, texts: Sequence[str]) -> None:
        table = SymbolTable(model.graph) if texts else None
        self._expressions = [parse(text) for text in texts]
        #: By loop, the positions of its measures.
        self._indices_by_loop: dict[int, list[int]] = {}
        for k, expression in enumerate(self._expressions):
            assert table is not None
            for index in loops_with_values(expression, table):
                self._indices_by_loop.setdefault(index, []).append(k)
        self.loops = [index for index in self._indices_by_loop if index != MAIN_GRAPH]
        self.in_main = MAIN_GRAPH in self._indices_by_loop
        self.uses_history = any(expression.uses_history for expression in self._expressions)

    def __bool__(self) -> bool:
        return bool(self._expressions)

    def evaluate(self, index: int, frame: Any, history: Any = None) -> dict[tuple[int, int], float | None]:
        """Return the numbers at the end of a loop, by loop and position; None: no value, such as after no iteration.

        Raises:
            ExecutionError: it is more than one number.
        """
        scope = FrameScope(frame, history)
        numbers: dict[tuple[int, int], float | None] = {}
        for k in self._indices_by_loop.get(index, ()):
            expression = self._expressions[k]
            try:
                value = expression.evaluate(scope)
            except NoValueError:
                value = None
            numbers[index, k] = None if value is None else _as_scalar(expression.text, value)
        return numbers


def _as_scalar(text: str, value: Any) -> float:
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind in "OUSc":
        kind = f"{array.dtype.name} {list(array.shape)}"
        raise ExecutionError(
            f"the measure '{text}' is {kind} and not one number; reduce it: max(abs({text}))",
            name=text,
            expected="one number",
            got=kind,
        )
    return float(array.reshape(()))
