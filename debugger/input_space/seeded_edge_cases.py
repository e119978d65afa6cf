"""Edge cases among random inputs, by their seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...runtime.input_validation import Data
from ...runtime.model import Model
from .space import InputSpace

#: One of N seeds makes an edge case.
_SEEDS_PER_EDGE_CASE = 4


class SeededEdgeCases:
    """Draws from the space that ``fuzz`` searches, for every fourth seed.

    Args:
        model: the model.
        dims: sizes of unknown dimensions, as ``N=5`` or ``x:0=4``.
    """

    def __init__(self, model: Model, dims: Sequence[str] = ()) -> None:
        self._usual_values = model.graph.usual_values
        self._space = InputSpace(model, dims)

    def inputs(self, seed: int) -> Mapping[str, Data] | None:
        """The inputs of a seed that makes an edge case; None: it makes usual inputs."""
        if seed % _SEEDS_PER_EDGE_CASE != _SEEDS_PER_EDGE_CASE - 1:
            return None
        return {**self._space.draw(np.random.default_rng(seed)), **self._usual_values}
