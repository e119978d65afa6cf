"""Profiles of models and sessions, by themselves or next to another runtime."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...runtime.errors import UsageError
from ...runtime.kernels.thread_pool import allowed_threads
from ...runtime.model import Data, Model
from ..session.session import Session
from .measure import measure_run
from .profile import Profile
from .roofline import measure_machine

#: How long a session's run is measured: it is waited for.
_SESSION_SECONDS = 0.3


def profile_model(
    model: Model,
    inputs: Mapping[str, Data] | None = None,
    seconds: float = 1.0,
    max_iterations: int | None = None,
    against: str | None = None,
    roofline: bool = False,
) -> Profile:
    """Measure where a run of a model spends its time and memory; see :meth:`Model.profile`."""
    machine = measure_machine(time.perf_counter if allowed_threads() > 1 else time.process_time) if roofline else None
    profile = measure_run(model, inputs or {}, seconds, max_iterations, machine)
    if against is None:
        return profile
    from ..peers.process import Peer
    from .peer_profile import match_peer, measure_peer

    with Peer(against) as peer:
        if peer.is_command:
            raise UsageError("a command does not say what its nodes take; profile measures onnxruntime or openvino")
        return match_peer(profile, measure_peer(model, inputs or {}, peer, seconds))


def profile_session(session: Session) -> Profile:
    """Measure a run of the model of a session with its inputs; the session does not move.

    Raises:
        UsageError: it is a recording.
    """
    if not session.controller.has_branches:
        raise UsageError("a recording cannot be run; profile needs the model: open it in place of the recording")
    return measure_run(session.model, session.inputs, _SESSION_SECONDS, session.max_iterations)
