"""The commands ``extract`` and ``repro`` at the position of a session."""

from __future__ import annotations

from pathlib import Path

from ....runtime.errors import UsageError
from ...compare.running.value_comparison import Tolerance
from ...extract.capture_runs import CaptureRuns, LoopEntryRef
from ...extract.extract_loop import ExtractionResult, extract
from ...extract.output_folder import check_writable_folder
from ...peers.command_template import COMMAND_USAGE
from ...peers.process import PEERS, Peer, is_peer_name
from ...session.session import Session
from ...session.session_frames import SessionFrame
from .. import initial_candidate
from .repro import Repro, make_repro
from .repro_report import FindingSource

#: Timeouts in seconds of a peer's answer, and of the whole search.
_PEER_TIMEOUT_SECONDS, _SEARCH_SECONDS = 10.0, 120.0


def extract_from_session(
    session: Session, folder: Path, frame: SessionFrame, whole: bool, force: bool = False
) -> ExtractionResult:
    """Write the iteration of a frame, or its whole entry, as a separate model.

    Raises:
        UsageError: no loop is running, or the folder cannot be written; or it is a recording.
        UnsupportedError: it cannot be a separate model.
    """
    if frame.loop is None:
        raise UsageError("no loop is running here; extract needs one")
    runs = CaptureRuns(session.model, session.inputs, locate=session.controller.timeline.detached_engine)
    entry = LoopEntryRef(session.model.plan.loops[frame.index], frame.entry)
    return extract(runs, entry, None if whole else frame.iteration, folder, force=force)


def repro_from_session(session: Session, folder: Path, target: str, force: bool = False) -> Repro:
    """Write the smallest part of the model that shows a finding: ``nan``, a peer's name, or ``if EXPR``.

    Raises:
        UsageError: no such finding, the folder cannot be written, or it is a recording.
    """
    if not session.controller.has_branches:
        raise UsageError("a recording cannot be run; repro needs the model: open it in place of the recording")
    check_writable_folder(folder, force=force)
    model, inputs, max_iterations = session.model, session.inputs, session.max_iterations
    if is_peer_name(target):
        with Peer(target, _PEER_TIMEOUT_SECONDS) as peer:
            finding = initial_candidate.find_peer_disagreement(model, inputs, peer, Tolerance(), max_iterations)
            source = FindingSource([model.name], peer.name, peer.version, peer.configuration)
            return make_repro(finding, source, folder, seconds=_SEARCH_SECONDS)
    text = target.removeprefix("if ").strip()
    if target != "nan" and text == target:
        peers = f"{', '.join(PEERS)}, {COMMAND_USAGE}"
        raise UsageError(f"repro shows nan, {peers} or if EXPR, not '{target}'", name=target)
    return make_repro(
        initial_candidate.find_breakpoint_hit(model, inputs, text, max_iterations),
        FindingSource([model.name], expression=text),
        folder,
        seconds=_SEARCH_SECONDS,
    )
