"""The model on the screen as pseudo-code: made once, and shared by the panes."""

from __future__ import annotations

from functools import lru_cache

from ...debugger.words.source import Source, source
from ...runtime.graph import Graph


@lru_cache(maxsize=1)
def program(main: Graph) -> Source:
    """The lines of a model; those of the model shown last are kept."""
    return source(main)
