"""Expressions of a teacher's course: of what a run was given and gave, and of where a learner stands."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from ...runtime.errors import UsageError
from ..expression.language import Expression, ExpressionError, ScopeError, UnknownNameError, parse
from ..values.iterations import TimedFrame
from ..values.scope import FrameScope
from .scene import Played, plain

_HOLE = re.compile(r"\{([^{}]+)\}")


class PlayedScope:
    """The inputs and outputs of a run by name, and ``iterations``, how often its first loop ran."""

    trip_count: int | None = None
    condition: bool | None = None

    def __init__(self, played: Played) -> None:
        self._played = played

    @property
    def iteration(self) -> int:
        """How often the first loop ran."""
        return self._played.iterations

    def names(self) -> Collection[str]:
        """Everything that has a value."""
        return {*self._played.scene.inputs, *self._played.run.outputs, "iterations"}

    def value(self, name: str) -> Any:
        """An input, an output, or the number of iterations.

        Raises:
            UnknownNameError: it is none of them.
        """
        if name == "iterations":
            return self._played.iterations
        if name not in self.names():
            raise UnknownNameError(name)
        import numpy as np

        return np.asarray(self._played[name])

    def at(self, name: str, iteration: int) -> Any:
        """Nothing: a run that is over has no iterations to be asked for.

        Raises:
            ScopeError: always.
        """
        raise ScopeError(f"'{name}' in an iteration cannot be asked for here")

    def previous(self, name: str) -> Any:
        """See :meth:`at`."""
        return self.at(name, 0)

    def initial(self, name: str) -> Any:
        """See :meth:`at`."""
        return self.at(name, 0)

    def history(self, name: str) -> Any:
        """See :meth:`at`."""
        return self.at(name, 0)


class StandScope(FrameScope):
    """What a frame shows, and the inputs of its scene."""

    def __init__(self, frame: TimedFrame, played: Played) -> None:
        super().__init__(frame, frame.history)
        self._beside = PlayedScope(played)
        self._inputs = frozenset(played.scene.inputs)

    def value(self, name: str) -> Any:
        """A value that is seen here, or an input."""
        try:
            return super().value(name)
        except ScopeError:
            if name in self._inputs:
                return self._beside.value(name)
            raise


def formula(text: str) -> Expression:
    """An expression.

    Raises:
        UsageError: it is none.
    """
    try:
        return parse(text)
    except ExpressionError as error:
        raise UsageError(f"'{text}': {error}") from None


def value_of(expression: Expression, played: Played) -> Any:
    """What an expression is of a run, in Python's own types.

    Raises:
        UsageError: it cannot be computed.
    """
    return plain(expression.evaluate(PlayedScope(played)))


def filled(text: str, played: Played) -> str:
    """A text with the values of the expressions that stand in it between braces.

    Raises:
        UsageError: one cannot be computed.
    """
    return _HOLE.sub(lambda hole: str(value_of(formula(hole[1]), played)), text)
