"""The number of PyTorch threads for a program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

#: Minimum number of elements of a value for which threads are efficient.
_LARGE_ELEMENTS = 1 << 20


@contextlib.contextmanager
def limit_threads(module: Any) -> Iterator[None]:
    """Use one thread for a program without a large value.

    With small operators, synchronization of threads gains nothing, and takes many times as long if another program uses
    one of the cores.
    """
    thread_count = torch.get_num_threads()
    if thread_count == 1 or declares_large_value(module):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(thread_count)


def declares_large_value(module: Any) -> bool:
    """Whether a graph, or one inside it, declares a large value; unknown sizes may be large."""
    graphs = [child for child in module.modules() if isinstance(child, torch.fx.GraphModule)]
    return any(
        _element_count(node.meta.get("val")) >= _LARGE_ELEMENTS for graph in graphs for node in graph.graph.nodes
    )


def _element_count(value: Any) -> int:
    if isinstance(value, list | tuple):
        return max(map(_element_count, value), default=0)
    if not isinstance(value, torch.Tensor):
        return 0
    sizes = [*value.shape]
    is_known = all(isinstance(size, int) for size in sizes)
    return value.numel() if is_known else _LARGE_ELEMENTS
