"""Expressions of a teacher's course: of what a run was given and gave, and of where a learner stands."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from ...runtime.errors import UsageError
from ..expression.language import Expression, ExpressionError, ScopeError, UnknownNameError, parse
from ..scope.frame_scope import FrameScope
from ..scope.iteration_values import FrameWithHistory
from .scene import SceneRun, to_python

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


class SceneRunScope:
    """The inputs and outputs of a run by name, and ``iterations``, how often its first loop ran."""

    trip_count: int | None = None
    condition: bool | None = None

    def __init__(self, played: SceneRun) -> None:
        self._scene_run = played

    @property
    def iteration(self) -> int:
        """How often the first loop ran."""
        return self._scene_run.iterations

    def names(self) -> Collection[str]:
        """Everything that has a value."""
        return {*self._scene_run.scene.inputs, *self._scene_run.run.outputs, "iterations"}

    def value(self, name: str) -> Any:
        """An input, an output, or the number of iterations.

        Raises:
            UnknownNameError: it is none of them.
        """
        if name == "iterations":
            return self._scene_run.iterations
        if name not in self.names():
            raise UnknownNameError(name)
        import numpy as np

        return np.asarray(self._scene_run[name])

    def value_at(self, name: str, iteration: int) -> Any:
        """Nothing: a run that is over has no iterations to be asked for.

        Raises:
            ScopeError: always.
        """
        raise ScopeError(f"'{name}' in an iteration cannot be asked for here")

    def previous(self, name: str) -> Any:
        """See :meth:`at`."""
        return self.value_at(name, 0)

    def initial(self, name: str) -> Any:
        """See :meth:`at`."""
        return self.value_at(name, 0)

    def history(self, name: str) -> Any:
        """See :meth:`at`."""
        return self.value_at(name, 0)


class LearnerScope(FrameScope):
    """What a frame shows, and the inputs of its scene."""

    def __init__(self, frame: FrameWithHistory, played: SceneRun) -> None:
        super().__init__(frame, frame.history)
        self._scene_run_scope = SceneRunScope(played)
        self._input_names = frozenset(played.scene.inputs)

    def value(self, name: str) -> Any:
        """A value that is seen here, or an input."""
        try:
            return super().value(name)
        except ScopeError:
            if name in self._input_names:
                return self._scene_run_scope.value(name)
            raise


def parse_expression(text: str) -> Expression:
    """An expression.

    Raises:
        UsageError: it is none.
    """
    try:
        return parse(text)
    except ExpressionError as error:
        raise UsageError(f"'{text}': {error}") from None


def evaluate_on_run(expression: Expression, played: SceneRun) -> Any:
    """What an expression is of a run, in Python's own types.

    Raises:
        UsageError: it cannot be computed.
    """
    return to_python(expression.evaluate(SceneRunScope(played)))


def fill_template(text: str, played: SceneRun) -> str:
    """A text with the values of the expressions that stand in it between braces.

    Raises:
        UsageError: one cannot be computed.
    """
    return _PLACEHOLDER.sub(lambda hole: str(evaluate_on_run(parse_expression(hole[1]), played)), text)
