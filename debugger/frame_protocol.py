"""The protocols of frames, live and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from ..runtime.frame import BodyNode, CarriedValue, FrameValues
from ..runtime.graph import Array, Loop, StoppedBy, Value

if TYPE_CHECKING:
    from .statistics.value_history import Evolution, ValueHistory


class FrameProtocol(Protocol):
    """A running loop, or the main graph; :class:`~..runtime.frame.Frame` documents the members."""

    @property
    def index(self) -> int: ...
    @property
    def loop(self) -> Loop | None: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def entry(self) -> tuple[int, ...]: ...
    @property
    def iteration(self) -> int: ...
    @property
    def trip_count(self) -> int | None: ...
    @property
    def condition(self) -> bool | None: ...
    @property
    def stopped_by(self) -> StoppedBy | None: ...
    @property
    def at_boundary(self) -> bool: ...
    @property
    def carried(self) -> Mapping[str, Any]: ...
    @property
    def back_edges(self) -> list[CarriedValue]: ...
    @property
    def scan_outputs(self) -> Mapping[str, Any]: ...
    @property
    def values(self) -> FrameValues: ...
    @property
    def nodes(self) -> Sequence[BodyNode]: ...
    @property
    def around(self) -> FrameProtocol | None: ...


class IterationLookup(Protocol):
    """The values of one entry of a loop in its other iterations."""

    def value(self, name: str, iteration: int) -> Any:
        """Return the value in an iteration: a parameter as the iteration received it, a body value as it was computed.

        Raises:
            UsageError: the value is unknown.
        """

    def evolution(self) -> Mapping[str, ValueHistory]:
        """The values in all iterations so far, as numbers."""


class FrameReader(FrameProtocol, Protocol):
    """What a session reads of a loop at a stop: of its engine, or of a recording. Frames and states are made of it.

    ``evolution``: the histories of the values over all iterations so far, as numbers.
    """

    @property
    def around(self) -> FrameReader | None: ...
    @property
    def evolution(self) -> Evolution: ...
    @property
    def history(self) -> IterationLookup: ...

    def current(self) -> Self:
        """This state, read again if it was edited.

        Raises:
            UsageError: the session has moved since.
        """

    def with_references(self) -> FrameReader:
        """A reader that may give references to large tensors (:class:`.statistics.tensor_statistics.TensorRef`), valid
        until the session moves."""

    def history_reader(self) -> Callable[[], Evolution]:
        """A function that gives ``evolution`` as it is now, also after the session has moved."""

    def boundary(self, iteration: int) -> FrameProtocol | None:
        """The loop at the boundary before an iteration of this entry; None if it is unknown."""

    def previous_frame(self) -> FrameReader | None:
        """The loop at the previous boundary of this entry, if available without execution."""

    def scope(self) -> Mapping[str, Value]:
        """The visible values by name; the body's names shadow those of enclosing graphs."""

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value of the loop graph is available, and a copy of it."""

    def read_all(self, values: Sequence[Value]) -> dict[Value, Any]:
        """Copies of those values of the loop graph that are available."""

    def scan_output(self, k: int) -> Any:
        """A copy of scan output k, as the loop would return it now; None if it is unknown."""

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """The element count, full shape, dtype and newest elements of scan output k."""
