"""Applies optimisation profiles to a graph: typical sizes and values of inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...graph import Graph, TensorType
from .optimization_profile import IOptimizationProfile


def apply_profiles(graph: Graph, profiles: Sequence[IOptimizationProfile]) -> None:
    """Set typical sizes and values of inputs; the first profile that has an input takes precedence."""
    for value in graph.inputs:
        kind = value.type
        if not isinstance(kind, TensorType) or kind.shape is None:
            continue
        shapes = [profile._shapes[value.name] for profile in profiles if value.name in profile._shapes]
        if shapes and len(shapes[0][1]) == len(kind.shape):
            graph.usual_shapes[value.name] = shapes[0][1]
        values = [profile._values[value.name] for profile in profiles if value.name in profile._values]
        if not values or kind.dtype is None or len(kind.shape) > 1:
            continue
        typical = np.array(values[0][1], kind.dtype)
        graph.usual_values[value.name] = typical.reshape(()) if not kind.shape and typical.size == 1 else typical
