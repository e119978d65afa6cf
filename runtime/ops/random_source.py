"""Where random numbers come from.

Execution is deterministic: what a node draws depends on the seed, on the node and on the iterations of the loops
around it, and on nothing that ran before. So an iteration that is run again, from a checkpoint or in another process,
draws the same numbers, and two iterations draw different ones. The numbers are not those of other runtimes.
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

    #: Which node of the model it is: the path of its loop, and its names.
    node: str = ""
    #: The iterations of the loops around it, outermost first.
    iterations: tuple[int, ...] = ()
    #: Stands in for a seed where the node has none.
    seed: int = 0

    def generator(self, seed: float | Sequence[int] | None = None) -> Generator:
        """A counter-based generator of its own; ``seed`` is the node's attribute."""
        from hashlib import blake2b

        from numpy.random import Generator, Philox

        told = repr((self.seed if seed is None else seed, self.node, self.iterations))
        return Generator(Philox(key=int.from_bytes(blake2b(told.encode(), digest_size=16).digest(), "little")))
