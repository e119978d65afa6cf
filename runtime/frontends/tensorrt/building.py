"""What a script has made so far, while it runs: networks, and what goes with them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from ...errors import UnsupportedError
from ...record import record
from .network import INetworkDefinition
from .place import place
from .profile import IOptimizationProfile


class NoEngineError(UnsupportedError):
    """A script has come to where it uses an engine: what it builds is complete by then."""


@record
class Building:
    """``built``: the networks that were given to ``build_serialized_network``, with the profiles of their configs."""

    networks: list[INetworkDefinition] = field(default_factory=list)
    profiles: list[IOptimizationProfile] = field(default_factory=list)
    built: list[tuple[INetworkDefinition, list[IOptimizationProfile]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self.notes:
            self.notes.append(text)

    def profiles_of(self, network: INetworkDefinition) -> list[IOptimizationProfile]:
        """The profiles that a network was built with; all that were made where it was built with none."""
        return next((profiles for built, profiles in self.built if built is network and profiles), self.profiles)


#: One script runs at a time: what ``import tensorrt`` means is the same in the whole process.
_LOCK = threading.RLock()
_now = Building()


def current() -> Building:
    """Of the script that runs; what is made outside of any is put down all the same, and forgotten with the next."""
    return _now


@contextmanager
def building() -> Iterator[Building]:
    """A script runs."""
    global _now
    with _LOCK:
        before, _now = _now, Building()
        try:
            yield _now
        finally:
            _now = before


def no_engine(what: str) -> NoEngineError:
    """The error of whatever needs an engine."""
    return NoEngineError(
        f"{place()}: {what} needs an engine, and none is built here: the network is what is debugged; leave this out,"
        " or keep it apart from the function that builds the network"
    )
