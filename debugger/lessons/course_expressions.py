"""Expressions of custom courses: on the inputs and outputs of a run, and on the learner's current state."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from ...runtime.errors import UsageError
from ..expression.expression import Expression, ExpressionError, ScopeError, UnknownNameError, parse
from ..frame_protocol import FrameReader
from ..scope.frame_scope import FrameScope
from .scene import SceneRun, to_python

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


#: Values that the built-in course computes of a run, by name.
ComputedValues = Mapping[str, Callable[[SceneRun], Any]]
NO_VALUES: ComputedValues = MappingProxyType({})


class SceneRunScope:
    """The inputs and outputs of a run by name, ``iterations``, that of its first loop, and computed values."""

    trip_count: int | None = None
    condition: bool | None = None

    def __init__(self, run: SceneRun, computed: ComputedValues = NO_VALUES) -> None:
        self._scene_run = run
        self._computed = computed

    @property
    def iteration(self) -> int:
        """The number of iterations of the first loop."""
        return self._scene_run.iterations

    def names(self) -> Collection[str]:
        """All names that have a value."""
        return {*self._scene_run.scene.inputs, *self._scene_run.run.outputs, "iterations"}

    def value(self, name: str) -> Any:
        """An input, an output, or the number of iterations.

        Raises:
            UnknownNameError: the name is unknown.
        """
        if name == "iterations":
            return self._scene_run.iterations
        if name in self._computed:
            return self._computed[name](self._scene_run)
        if name not in self.names():
            raise UnknownNameError(name)
        import numpy as np

        return np.asarray(self._scene_run[name])

    def value_at(self, name: str, iteration: int) -> Any:
        """A finished run has no values by iteration.

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
    """The names of a frame, and the inputs of its scene."""

    def __init__(self, frame: FrameReader, run: SceneRun) -> None:
        super().__init__(frame, frame.history)
        self._scene_run_scope = SceneRunScope(run)
        self._input_names = frozenset(run.scene.inputs)

    def value(self, name: str) -> Any:
        """A value of the frame, or an input."""
        try:
            return super().value(name)
        except ScopeError:
            if name in self._input_names:
                return self._scene_run_scope.value(name)
            raise


def parse_expression(text: str) -> Expression:
    """Parse an expression.

    Raises:
        UsageError: the syntax is invalid.
    """
    try:
        return parse(text)
    except ExpressionError as error:
        raise UsageError(f"'{text}': {error}") from None


def evaluate_on_run(expression: Expression, run: SceneRun, computed: ComputedValues = NO_VALUES) -> Any:
    """Evaluate an expression on a run, as a Python value.

    Raises:
        UsageError: it cannot be computed.
    """
    value = expression.evaluate(SceneRunScope(run, computed))
    return [to_python(item) for item in value] if isinstance(value, list) else to_python(value)


def fill_template(text: str, run: SceneRun, computed: ComputedValues = NO_VALUES) -> str:
    """Replace the expressions in braces by their values.

    Raises:
        UsageError: an expression cannot be computed.
    """
    return _PLACEHOLDER.sub(lambda match: str(evaluate_on_run(parse_expression(match[1]), run, computed)), text)
