"""Which entry and which iteration of a loop is meant."""

from __future__ import annotations

import re

from ...runtime.errors import UsageError
from ...runtime.plan.plan import LoopPlan
from ..diff.live import compare_live
from ..diff.streams import Options
from ..peers.process import Peer
from .captured import Place, Runs


def numbers(text: str, option: str) -> tuple[int, ...]:
    """The numbers of ``N/M``.

    Raises:
        UsageError: it has something else.
    """
    if not re.fullmatch(r"\d{1,18}(/\d{1,18})*", text):
        raise UsageError(f"{option} {text}: a number is needed, or numbers with / between them")
    return tuple(int(part) for part in text.split("/"))


def entry_of(plan: LoopPlan, around: tuple[int, ...]) -> tuple[int, ...]:
    """An entry of a loop.

    Raises:
        UsageError: it stands in more or fewer loops.
    """
    depth = plan.path.count(" ▸ ") - 1
    if len(around) != depth:
        has = "no loop around it" if not depth else f"{depth} around it: give as many numbers"
        raise UsageError(f"loop '{plan.loop.name}' has {has}, not {len(around)}")
    return around


def where_it_differs(runs: Runs, plan: LoopPlan, peer: str, timeout: float = 60.0) -> tuple[Place, int]:
    """The entry and the iteration in which a peer first differs, from our values in each iteration where it can.

    Raises:
        UsageError: it does not differ in this loop.
    """
    with Peer(peer, timeout) as running:
        found = compare_live(runs.model, runs.inputs, running, Options(loops=[plan.path]), limit=runs.limit)
    for comparison in found.comparisons:
        for loop in comparison.loops:
            if loop.left == plan.path and loop.first is not None:
                return Place(plan, loop.first.entry), loop.first.iteration or 0
    why = "; ".join(note for comparison in found.comparisons for note in comparison.notes)
    raise UsageError(
        f"loop '{plan.loop.name}' does not differ in {peer}, so there is no such iteration{f' ({why})' if why else ''}"
    )
