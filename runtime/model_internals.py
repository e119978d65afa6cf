"""What is behind a model: where it came from, and how engines of it are read, for what works on models from within."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import field
from pathlib import Path

from .engine.engine import Engine
from .graph import Graph, StoppedBy
from .input_validation import Data
from .max_trip_count import max_trip_count
from .plan.plan import LoopPlan
from .plugin_registry import load_plugin
from .record import record


@record(frozen=True)
class LoopTotals:
    """How often a loop ran in one run: iterations over all its entries, and why entries ended.

    ``seconds`` is wall time inside the loop; 0.0 for nested loops.

    >>> totals = model.execute(inputs).loops[0]
    >>> totals.name, totals.iterations, totals.entries, totals.trip_count
    ('sqrt', 5, 1, None)
    """

    name: str
    path: str
    iterations: int
    entries: int
    #: Why the last entry ended; None: the loop was never entered.
    stopped_by: StoppedBy | None
    reasons: Mapping[StoppedBy, int]
    #: The most iterations that the last entry might run; None: no limit.
    trip_count: int | None
    #: Wall time inside the loop, seconds; 0.0 for nested loops.
    seconds: float
    notes: tuple[str, ...] = ()


@record
class Run:
    """One headless run: what it gave, and how its loops went.

    >>> run = model.execute(inputs, max_iterations=2)
    >>> run.outputs, run.stopped_by, run.message
    ({}, <StoppedBy.LIMIT: 'limit'>, "loop 'sqrt' reached the limit of 2 iterations without ending")
    """

    outputs: dict[str, Data] = field(default_factory=dict)
    loops: list[LoopTotals] = field(default_factory=list)
    #: The limit or interrupt that ended the run before its end, else None.
    stopped_by: StoppedBy | None = None
    message: str = ""
    #: What is odd about the file, or about what ran of it outside of any loop; one sentence each.
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("run", self)
        return drawn


class ModelInternals:
    """What our own readers need of a model besides what it shows.

    ``function``: of a script, what builds the model, if it was named; ``weights``: of an IR, the file with its
    constants, if one was named; ``requests``: its runs are several runs of what is in the file.
    """

    def __init__(self, graph: Graph, names: Set[str], function: str, weights: Path | None) -> None:
        self._graph = graph
        self._input_names = names
        self.function = function
        self.weights = weights
        self.is_over_requests = False

    def resolve_aliases(self, inputs: Mapping[str, Data]) -> Mapping[str, Data]:
        """Inputs by the model's own names for them."""
        if inputs.keys() <= self._input_names:
            return inputs
        aliases = {alias: name for alias, name in self._graph.aliases.items() if name not in inputs}
        return {aliases.get(name, name): value for name, value in inputs.items()}

    def results(self, engine: Engine) -> dict[str, Data]:
        """The outputs of an engine that ran to the end, by name; copies.

        Raises:
            ExecutionError: an output that nothing wrote.
        """
        results: dict[str, Data] = engine.results()
        for variable in self._graph.variables:
            results.pop(variable.output_name, None)
        return results

    def totals(self, engine: Engine, ended: StoppedBy | None = None) -> list[LoopTotals]:
        """How the loops went; ``ended``: what stopped the loops that are still running."""
        return [_loop_totals(plan, engine, ended) for plan in engine.plan.loops]


def _loop_totals(plan: LoopPlan, engine: Engine, ended: StoppedBy | None) -> LoopTotals:
    iterations, entries, reasons, seconds = engine.loops.totals(plan.index)
    _, _, _, last, active = engine.loop_state(plan.index)
    return LoopTotals(
        plan.loop.name,
        plan.path,
        iterations,
        entries,
        (ended if active else last) if entries else None,
        reasons,
        max_trip_count(engine, plan),
        seconds,
        tuple(plan.loop.notes),
    )
