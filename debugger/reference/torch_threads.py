"""How many threads PyTorch gets for a program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

#: Elements of a value from which on threads are worth what they cost.
_LARGE_ELEMENTS = 1 << 20


@contextlib.contextmanager
def limit_threads(module: Any) -> Iterator[None]:
    """One thread for a program without a large value.

    Threads that wait for each other at each small operator gain nothing, and take many times as long where another
    program has one of the cores.
    """
    before = torch.get_num_threads()
    if before == 1 or declares_large_value(module):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def declares_large_value(module: Any) -> bool:
    """Whether a graph, or one inside it, declares a large value; a size that is not known may be large."""
    graphs = [one for one in module.modules() if isinstance(one, torch.fx.GraphModule)]
    return any(
        _element_count(node.meta.get("val")) >= _LARGE_ELEMENTS for graph in graphs for node in graph.graph.nodes
    )


def _element_count(value: Any) -> int:
    if isinstance(value, list | tuple):
        return max(map(_element_count, value), default=0)
    if not isinstance(value, torch.Tensor):
        return 0
    sizes = [*value.shape]
    known = all(isinstance(size, int) for size in sizes)
    return value.numel() if known else _LARGE_ELEMENTS
