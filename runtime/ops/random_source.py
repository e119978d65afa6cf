"""Deterministic random numbers.

A node's random numbers depend only on the seed, the node and the iterations of the enclosing loops. So an iteration
that is repeated, from a checkpoint or in another process, draws the same numbers, and different iterations draw
different ones. The numbers differ from those of other runtimes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..record import record

if TYPE_CHECKING:
    from numpy.random import Generator


@record(frozen=True)
class RandomSource:
    """The random numbers of one execution of one node."""

    #: Identifies the node in the model: the path of its loop, and its names.
    node: str = ""
    #: The iterations of the enclosing loops, outermost first.
    iterations: tuple[int, ...] = ()
    #: Default seed for nodes without one.
    seed: int = 0

    def generator(self, seed: float | Sequence[int] | None = None) -> Generator:
        """A counter-based generator for this execution; ``seed`` is the node's attribute."""
        from hashlib import blake2b

        from numpy.random import Generator, Philox

        key_text = repr((self.seed if seed is None else seed, self.node, self.iterations))
        return Generator(Philox(key=int.from_bytes(blake2b(key_text.encode(), digest_size=16).digest(), "little")))
