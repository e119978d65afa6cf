"""The state of a running script: networks, profiles and notes."""

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
    """A script uses an engine, so that its network is complete."""


@record
class ScriptState:
    """``built_networks``: the networks passed to a build method, with the profiles of their configs."""

    networks: list[INetworkDefinition] = field(default_factory=list)
    profiles: list[IOptimizationProfile] = field(default_factory=list)
    built_networks: list[tuple[INetworkDefinition, list[IOptimizationProfile]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def profiles_of(self, network: INetworkDefinition) -> list[IOptimizationProfile]:
        """The profiles that a network was built with; all created profiles where there are none."""
        return next(
            (profiles for built, profiles in self.built_networks if built is network and profiles), self.profiles
        )


#: One script runs at a time, as ``import tensorrt`` is global in the process.
_LOCK = threading.RLock()
_current = ScriptState()


def current_state() -> ScriptState:
    """The state of the running script; outside of scripts, a default state."""
    return _current


@contextmanager
def new_script_state() -> Iterator[ScriptState]:
    """Set a new state while a script runs."""
    global _current
    with _LOCK:
        previous, _current = _current, ScriptState()
        try:
            yield _current
        finally:
            _current = previous


def no_engine_error(name: str) -> NoEngineError:
    """The error for an operation that needs an engine."""
    return NoEngineError(
        f"{caller_location()}: {name} needs an engine, and none is built here: the network is what is debugged; leave "
        "this out, or keep it apart from the function that builds the network"
    )
