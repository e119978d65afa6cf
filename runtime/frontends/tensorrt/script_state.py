"""What a script has made so far, while it runs: networks, and what goes with them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from ...errors import UnsupportedError
from ...record import record
from .network import INetworkDefinition
from .optimization_profile import IOptimizationProfile
from .script_location import caller_location


class NoEngineError(UnsupportedError):
    """A script has come to where it uses an engine: what it builds is complete by then."""


@record
class ScriptState:
    """``built``: the networks that were given to ``build_serialized_network``, with the profiles of their configs."""

    networks: list[INetworkDefinition] = field(default_factory=list)
    profiles: list[IOptimizationProfile] = field(default_factory=list)
    built_networks: list[tuple[INetworkDefinition, list[IOptimizationProfile]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self.notes:
            self.notes.append(text)

    def profiles_of(self, network: INetworkDefinition) -> list[IOptimizationProfile]:
        """The profiles that a network was built with; all that were made where it was built with none."""
        return next(
            (profiles for built, profiles in self.built_networks if built is network and profiles), self.profiles
        )


#: One script runs at a time: what ``import tensorrt`` means is the same in the whole process.
_LOCK = threading.RLock()
_current = ScriptState()


def current_state() -> ScriptState:
    """Of the script that runs; what is made outside of any is put down all the same, and forgotten with the next."""
    return _current


@contextmanager
def new_script_state() -> Iterator[ScriptState]:
    """A script runs."""
    global _current
    with _LOCK:
        before, _current = _current, ScriptState()
        try:
            yield _current
        finally:
            _current = before


def no_engine_error(what: str) -> NoEngineError:
    """The error of whatever needs an engine."""
    return NoEngineError(
        f"{caller_location()}: {what} needs an engine, and none is built here: the network is what is debugged; leave "
        "this out,"
        " or keep it apart from the function that builds the network"
    )
