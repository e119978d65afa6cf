"""A reference: values that a Python loop or another framework computed, by name and iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...runtime.graph import Value
from ...runtime.input_validation import Data

#: The iterations of the loops around a value, outermost first; () outside of loops.
Key = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Track:
    """One value of a reference over time.

    ``values``: by the iterations of the loops around it, outermost first; ``()`` outside of loops. With the role
    "carried" the values that iterations received, else those that they computed.

    >>> loopdbg.Track("x", {(0,): np.float32(1.5), (1,): np.float32(1.4166667)}, source="newton.py:7").name
    'x'
    """

    name: str
    values: Mapping[Key, Data]
    #: Name or path of its loop in the reference; empty if unknown, and outside of loops.
    loop: str = ""
    #: The operator that computed it ("aten.mul.Tensor"); empty if unknown.
    maker: str = ""
    #: The node's name there, as in the metadata of exporters (the name of an fx node).
    node: str = ""
    #: ``file:line`` there; empty if unknown.
    source: str = ""
    #: carried (received by the iteration), result, output, scan, input; empty if unknown.
    role: str = ""
    #: A model need not have it: an intermediate value may be computed in another way.
    optional: bool = False


@dataclass
class Reference:
    """All values of a reference. ``label``: its display name.

    >>> track = loopdbg.Track("x", {(0,): np.float32(1.5), (1,): np.float32(1.4166667)})
    >>> loopdbg.Reference("newton.py", [track], inputs=inputs).label
    'newton.py'
    """

    label: str
    tracks: list[Track]
    #: Its inputs by name, if known.
    inputs: Mapping[str, Data] | None = None
    #: Loop -> entry (the iterations of the outer loops) -> number of iterations, if known.
    trips: Mapping[str, Mapping[Key, int]] = field(default_factory=dict)
    #: The same for Python loops that a program is unrolled from; a model need not have them.
    folds: Mapping[str, Mapping[Key, int]] = field(default_factory=dict)
    #: Whether its kernels sum in another order than the kernels here.
    other_kernels: bool = False


@dataclass(frozen=True, eq=False)
class TrackMatch:
    """A value of the model that matches a track of the reference.

    ``loop``: the path of the model's loop whose body has ``value``, empty in the main graph. A value of a branch of an
    If belongs to the enclosing loop. ``method``: given, metadata, name, position, value.
    """

    track: Track
    loop: str
    value: Value
    method: str
