"""``extract`` and ``repro`` where a session stands."""

from __future__ import annotations

from pathlib import Path

from ...runtime.errors import UsageError
from ..diff.values import Tolerance
from ..peers.process import PEERS, Peer
from ..session.debuggee import Debuggee
from ..session.frames import SessionFrame
from ..session.session import Session
from . import find
from .captured import Place, Runs
from .extract import Extracted, extract
from .folder import check_folder
from .report import About
from .repro import Repro, make

#: Seconds that a person waits for the answer of a peer, and for the whole.
_PATIENCE, _SEARCH = 10.0, 120.0


def extract_here(session: Debuggee, folder: Path, frame: SessionFrame, whole: bool, force: bool = False) -> Extracted:
    """Write the iteration of a frame, or all of its entry, as a model of its own.

    Raises:
        UsageError: no loop is running, or the folder cannot be written; or it is a recording.
        UnsupportedError: it cannot be a model of its own.
    """
    if frame.loop is None:
        raise UsageError("no loop is running here; extract needs one")
    runs = Runs(session.model, session.inputs, at=session._inside.timeline.apart)
    place = Place(session.model.plan.loops[frame.index], frame.entry)
    return extract(runs, place, None if whole else frame.iteration, folder, force=force)


def repro_here(session: Debuggee, folder: Path, what: str, force: bool = False) -> Repro:
    """Write the smallest part of the model that shows something: ``nan``, a peer's name, or ``if EXPR``.

    Raises:
        UsageError: nothing of the kind happens, or the folder cannot be written; or it is a recording.
    """
    if not isinstance(session, Session):
        raise UsageError("a recording cannot be run; repro needs the model: open it in place of the recording")
    check_folder(folder, force=force)
    model, inputs, most = session.model, session.inputs, session.max_iterations
    if what in PEERS:
        with Peer(what, _PATIENCE) as peer:
            finding = find.against(model, inputs, peer, Tolerance(), most)
            about = About([model.name], peer.name, peer.version, peer.configuration)
            return make(finding, about, folder, seconds=_SEARCH)
    text = what.removeprefix("if ").strip()
    if what != "nan" and text == what:
        raise UsageError(f"repro shows nan, {', '.join(PEERS)} or if EXPR, not '{what}'")
    return make(find.stopping(model, inputs, text, most), About([model.name], expression=text), folder, seconds=_SEARCH)
