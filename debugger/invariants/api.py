"""Mines the invariants of runs, and checks them on others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...runtime.errors import InterruptError, LimitError, UsageError
from ...runtime.frame import Frame
from ...runtime.model import Data, Model, Run
from ...runtime.text import count_text
from ..breakpoints.assertion import violation_location
from ..describe.value_names import quote
from ..session.session import Session
from ..session.stop import Reason
from .observe import LoopRecord

#: Of a loop in a good run, unless a limit is given.
_MAX_ITERATIONS = 10_000


@dataclass(frozen=True)
class MinedInvariant:
    """What held at every boundary of a loop in every run. ``assertion``: with its loop; ``evidence``: the
    number of boundaries that could have contradicted it."""

    assertion: str
    kind: str
    loop: str
    evidence: int


@dataclass(frozen=True)
class MinedInvariants:
    """The invariants of a model over some runs. ``str()`` is a file of invariants. ``endless``: the inputs that were
    left out, since a loop did not end."""

    model: str
    runs: int
    endless: int
    boundaries: int
    invariants: tuple[MinedInvariant, ...]

    def to_json(self) -> dict[str, Any]:
        """The invariants as a JSON object."""
        return asdict(self)

    def __str__(self) -> str:
        runs, boundaries = count_text(self.runs, "run"), count_text(self.boundaries, "boundary", "boundaries")
        left_out = f"; {count_text(self.endless, 'input')} left out, with loops that do not end" if self.endless else ""
        lines = [f"# {self.model}: held in {runs}, at {boundaries}{left_out}"]
        return "\n".join([*lines, *(invariant.assertion for invariant in self.invariants), ""])


def mine_invariants(
    model: Model, cases: Sequence[Mapping[str, Data]], max_iterations: int | None = None
) -> MinedInvariants:
    """The assertions that hold at every boundary of all runs, and that enough boundaries could have contradicted.

    Args:
        model: the model.
        cases: the inputs of each run.
        max_iterations: a run in which a loop takes more is left out; None: 10 000.

    Raises:
        UsageError: the model has no loop, or no run ends.
        InputError, ExecutionError: a run fails.
        InterruptError: Ctrl-C.
    """
    if not model.plan.loops:
        raise UsageError(f"{model.name} has no loop, of whose boundaries something could hold", name=model.name)
    records = {plan.index: LoopRecord(plan.loop) for plan in model.plan.loops}

    def observe(frame: Frame) -> None:
        records[frame.index].add(frame)

    limit = max_iterations or _MAX_ITERATIONS
    # Without the observer, which is slow, it soon shows whether a run ends.
    runs = [inputs for inputs in cases if _ends_within_limit(model, inputs, limit)]
    if not runs:
        text = (
            f"no run of {model.name} ends within {count_text(limit, 'iteration')}: give other inputs, or a higher limit"
        )
        raise UsageError(text, name=model.name)
    for inputs in runs:
        _raise_interrupt(model.execute(inputs, on_iteration=observe))
    names = [plan.loop.name for plan in model.plan.loops]
    invariants = []
    for plan in model.plan.loops:
        label = quote(plan.loop.name if names.count(plan.loop.name) == 1 else plan.path)
        for kind, text, evidence in records[plan.index].candidates():
            invariants.append(MinedInvariant(f"{text} in {label}", kind, plan.path, evidence))
    for inputs in runs:
        broken = dict(violations(model, inputs, [entry.assertion for entry in invariants]))
        invariants = [entry for entry in invariants if entry.assertion not in broken]
    boundaries = sum(record.boundaries for record in records.values())
    return MinedInvariants(model.name, len(runs), len(cases) - len(runs), boundaries, tuple(invariants))


def _ends_within_limit(model: Model, inputs: Mapping[str, Data], limit: int) -> bool:
    try:
        run = model.execute(inputs, max_iterations=limit)
    except LimitError:
        return False
    _raise_interrupt(run)
    return run.stopped_by is None


def _raise_interrupt(run: Run) -> None:
    if run.stopped_by == "interrupt":
        raise InterruptError(run.message)


def violations(
    model: Model, inputs: Mapping[str, Data] | None, assertions: Sequence[str], max_iterations: int | None = None
) -> Iterator[tuple[str, str]]:
    """The assertions that do not hold in a run, each with where that is first so, or why it cannot be tested.

    Raises:
        UsageError: an assertion is not valid, or names what the model does not have.
        InterruptError: Ctrl-C.
    """
    with Session(model, inputs, max_iterations=max_iterations, attended=False) as session:
        texts = {session.breakpoints.add(violation_location(text)).number: text for text in assertions}
        stop = session.controller.check_breakpoints()
        if not stop.breakpoints:
            stop = session.continue_()
        while stop.breakpoints:
            frame = session.frame
            place = f"at {frame.path}, iteration {frame.iteration}" if frame.loop is not None else "in the main graph"
            failed = stop.reason is Reason.ERROR
            for number in stop.breakpoints:
                yield texts[number], stop.text if failed else f"is false {place}"
                session.breakpoints.delete(number)
            stop = session.continue_()
        if stop.reason is Reason.INTERRUPT:
            raise InterruptError(stop.text)
