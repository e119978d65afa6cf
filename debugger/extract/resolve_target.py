"""Resolves the entry and the iteration of a loop to extract."""

from __future__ import annotations

import re

from ...runtime.errors import UsageError
from ...runtime.plan.plan import LoopPlan
from ..compare.live_peer.peer_comparison import compare_with_peer
from ..compare.running.boundary_merge import ComparisonOptions
from ..peers.process import Peer
from .capture_runs import CaptureRuns, LoopEntryRef

_PEER_TIMEOUT_SECONDS = 60.0


def parse_numbers(text: str, option: str) -> tuple[int, ...]:
    """The numbers of ``N/M``.

    Raises:
        UsageError: the text has another form.
    """
    if not re.fullmatch(r"\d{1,18}(/\d{1,18})*", text):
        raise UsageError(f"{option} {text}: a number is needed, or numbers with / between them", name=option, got=text)
    return tuple(int(number) for number in text.split("/"))


def check_entry_indices(plan: LoopPlan, around: tuple[int, ...]) -> tuple[int, ...]:
    """Check the number of indices of a loop entry and return them.

    Raises:
        UsageError: the loop is nested in more or fewer loops.
    """
    depth = plan.path.count(" ▸ ") - 1
    if len(around) != depth:
        depth_text = "no loop around it" if not depth else f"{depth} around it: give as many numbers"
        raise UsageError(
            f"loop '{plan.loop.name}' has {depth_text}, not {len(around)}",
            loop=plan.loop.name,
            expected=depth_text,
            got=str(len(around)),
        )
    return around


def find_first_peer_difference(runs: CaptureRuns, plan: LoopPlan, peer: str) -> tuple[LoopEntryRef, int]:
    """The entry and the iteration in which a peer first differs; each iteration starts from our values if possible.

    Raises:
        UsageError: the peer does not differ in this loop.
    """
    with Peer(peer, _PEER_TIMEOUT_SECONDS) as peer_process:
        result = compare_with_peer(
            runs.model, runs.inputs, peer_process, ComparisonOptions(loops=[plan.path]), limit=runs.limit
        )
    for comparison in result.comparisons:
        for loop in comparison.loops:
            if loop.left == plan.path and loop.first is not None:
                return LoopEntryRef(plan, loop.first.entry), loop.first.iteration or 0
    msg = "; ".join(note for comparison in result.comparisons for note in comparison.notes)
    raise UsageError(
        f"loop '{plan.loop.name}' does not differ in {peer}, so there is no such iteration{f' ({msg})' if msg else ''}",
        loop=plan.loop.name,
    )
