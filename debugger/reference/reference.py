"""A reference: the values that something else computed, a Python loop or another framework, by name and iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...runtime.graph import Graph, Value
from ...runtime.input_validation import Data

#: The iteration of each loop around a value, outermost first; () outside of loops.
Key = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Track:
    """One value of a reference over time.

    ``values``: by the iteration of each loop around it, outermost first; ``()`` outside of loops. With the role
    "carried" the value that the iteration received, else the one that it computed.

    >>> loopdbg.Track("x", {(0,): np.float32(1.5), (1,): np.float32(1.4166667)}, source="newton.py:7").name
    'x'
    """

    name: str
    values: Mapping[Key, Data]
    #: Name or path of its loop in the reference; empty where that is not known, and outside of loops.
    loop: str = ""
    #: The operator that made it there ("aten.mul.Tensor"); empty where that is not known.
    maker: str = ""
    #: The node's name there, as the metadata of exporters tell it (of an fx node its name).
    node: str = ""
    #: file:line there; empty where that is not known.
    source: str = ""
    #: carried (received by the iteration), result, output, scan, input; empty where that is not known.
    role: str = ""
    #: A model need not have it: what is computed on the way to a result may be computed otherwise.
    optional: bool = False


@dataclass
class Reference:
    """All values of a reference. ``label``: what to call it.

    >>> track = loopdbg.Track("x", {(0,): np.float32(1.5), (1,): np.float32(1.4166667)})
    >>> loopdbg.Reference("newton.py", [track], inputs=inputs).label
    'newton.py'
    """

    label: str
    tracks: list[Track]
    #: What it was run on, by name, where that is known.
    inputs: Mapping[str, Data] | None = None
    #: Loop -> entry (the iterations of the loops around it) -> its iterations, where that is known.
    trips: Mapping[str, Mapping[Key, int]] = field(default_factory=dict)
    #: The same of loops of Python that a program is unrolled from; a model need not have them.
    folds: Mapping[str, Mapping[Key, int]] = field(default_factory=dict)
    #: Its kernels add in another order than those that run a model here.
    other_kernels: bool = False


@dataclass(frozen=True, eq=False)
class TrackMatch:
    """A value of the model that is a track of the reference.

    ``loop``: the path of the model's loop in whose body ``value`` is, empty in the main graph. A value of a branch of
    an If belongs to the loop around it. ``how``: given, metadata, name, position, value.
    """

    track: Track
    loop: str
    value: Value
    method: str


#: Finds the values of a graph that tracks stand for; the tracks that it says nothing of are left to others.
Matcher = Callable[[Graph, Reference, Sequence[Track]], list[TrackMatch]]
