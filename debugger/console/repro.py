"""The ``repro`` command: the smallest part of the model that still shows something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError
from ..peers.process import PEERS, Peer
from .command import command

if TYPE_CHECKING:
    from ..cut.repro import Repro
    from .console import Console

#: Seconds that a person waits for the answer of a peer, and for the whole.
_PATIENCE, _SEARCH = 10.0, 120.0


@command(
    "repro DIR [WHAT]",
    "the smallest part that shows WHAT, as a folder for a bug report: nan, onnxruntime, openvino or if EXPR",
)
def _repro(console: Console, rest: str) -> None:
    folder, _, what = rest.partition(" ")
    if not folder:
        raise UsageError("repro needs a folder to write: repro report, repro report onnxruntime, repro report if x > 1")
    for line in _made(console, Path(folder).expanduser(), what.strip() or "nan").lines():
        console.say(line)


def _made(console: Console, folder: Path, what: str) -> Repro:
    # Here, since a console without it needs none of it.
    from ..cut import find
    from ..cut.folder import check_folder
    from ..cut.report import About
    from ..cut.repro import make
    from ..diff.values import Tolerance
    from ..session.session import Session

    session = console.session
    if not isinstance(session, Session):
        raise UsageError("a recording cannot be run; repro needs the model: open it in place of the recording")
    check_folder(folder, force=False)
    model, inputs, most = session.model, session.inputs, session.max_iterations
    if what in PEERS:
        with Peer(what, _PATIENCE) as peer:
            finding = find.against(model, inputs, peer, Tolerance(), most)
            return make(
                finding, About([model.name], peer.name, peer.version, peer.configuration), folder, seconds=_SEARCH
            )
    text = what.removeprefix("if ").strip()
    if what != "nan" and text == what:
        raise UsageError(f"repro shows nan, {', '.join(PEERS)} or if EXPR, not '{what}'")
    return make(find.stopping(model, inputs, text, most), About([model.name], expression=text), folder, seconds=_SEARCH)
