"""Runs of a model in which chosen nodes are narrow, next to the wide run: errors of outputs, and of every value."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, InterruptError, LimitError
from ...runtime.frame import Frame, FrameInternals, frame_reader
from ...runtime.graph import Array, Graph, Operation, Value
from ...runtime.model import Data, Model
from ...runtime.plan.plan import compile_graph
from .mixed_graph import WIDE_TYPE, is_narrowable, mixed_graph
from .quantised_graph import QUANTISED_TYPE, ValueRange, calibration_graph, quantised_graph

#: Iterations of which the errors are kept for each value.
MAX_ITERATIONS_KEPT = 100_000


@dataclass(frozen=True)
class Errors:
    """How far a narrow result is from the wide one.

    ``absolute``: the largest difference; ``relative``: that divided by the largest number of the wide result; ``snr``:
    signal to noise ratio in dB; ``cosine``: similarity of directions; ``ulp``: the largest difference in units of the
    last place that float32 has there. ``nonfinite``: numbers that are NaN or infinite in the narrow result alone, which
    count for nothing else but make ``relative`` infinite.
    """

    absolute: float
    relative: float
    snr: float
    cosine: float
    nonfinite: int = 0
    ulp: float = 0.0


#: What is known about the errors of each iteration.
METRICS = ("relative", "absolute", "ulp", "snr", "cosine")


def errors_between(expected: Array, narrow: Array) -> Errors:
    """The errors of a narrow result; infinite where its shape is another one."""
    if expected.shape != narrow.shape:
        return Errors(math.inf, math.inf, -math.inf, 0.0, narrow.size, math.inf)
    a, b = expected.astype(np.float64).reshape(-1), narrow.astype(np.float64).reshape(-1)
    finite = np.isfinite(a) & np.isfinite(b)
    nonfinite = int((np.isfinite(a) & ~np.isfinite(b)).sum())
    a, b = a[finite], b[finite]
    if not a.size:
        return Errors(0.0, math.inf if nonfinite else 0.0, math.inf, 1.0, nonfinite)
    difference = a - b
    absolute, largest = float(np.abs(difference).max()), float(np.abs(a).max())
    noise, signal = float(difference @ difference), float(a @ a)
    relative = 0.0 if absolute == 0 else absolute / largest if largest else math.inf
    norms = math.sqrt(signal * float(b @ b))
    return Errors(
        absolute,
        math.inf if nonfinite else relative,
        math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf,
        min(1.0, float(a @ b) / norms) if norms else float(noise == 0),
        nonfinite,
        float((np.abs(difference) / np.spacing(np.abs(a).astype(np.float32)).astype(np.float64)).max()),
    )


@dataclass(eq=False)
class MixedRun:
    """What a run gave. ``iterations``: by path of a loop, over all entries; ``outputs``: None where it failed."""

    outputs: Mapping[str, Data] | None
    iterations: Mapping[str, int]
    error: ExecutionError | None = None


class PrecisionRuns:
    """The wide run of a model with some inputs, and mixed runs next to it.

    Raises:
        InputError: the inputs do not match the signature.
        ExecutionError: the wide run fails.
        LimitError: the wide run does not end.
        InterruptError: Ctrl-C.
    """

    def __init__(
        self, model: Model, inputs: Mapping[str, Data], type_name: str, max_iterations: int | None = None
    ) -> None:
        self.model, self.type_name = model, type_name
        self.inputs = dict(inputs)
        self._checked = model.check(inputs)
        run = model.execute(inputs, max_iterations=max_iterations)
        if run.stopped_by is not None:
            raise (InterruptError if run.stopped_by == "interrupt" else LimitError)(run.message)
        self.wide_run = MixedRun(run.outputs, {loop.path: loop.iterations for loop in run.loops})
        #: A narrow run that goes on for longer than this is no run of this model.
        self._limit = 2 * max(self.wide_run.iterations.values(), default=0) + 10
        engine = self.engine(model.graph)
        engine.resume()
        slots = engine.plan.slot_of
        kinds = {value: engine.memory.dtype_and_shape(slot) for value, slot in slots.items()}
        self.dtypes = {value: kind[0] for value, kind in kinds.items() if kind is not None}
        #: The nodes that can compute in the narrower type, in the order in which they run.
        self.nodes = [
            instruction.node
            for instruction in engine.plan.code
            if isinstance(instruction.node, Operation)
            and instruction.op is not None
            and not instruction.op.random
            and is_narrowable(instruction.node, self.dtypes)
        ]
        self.count = 0
        self.ranges: dict[Value, ValueRange] = {}
        if type_name == QUANTISED_TYPE:
            observing, self.ranges = calibration_graph(model.graph, self.nodes, self.dtypes)
            self.engine(observing).resume()

    def mixed(self, narrow: Collection[Operation], rounded: Collection[Operation] = ()) -> Graph:
        """The model with these nodes in the narrower type; ``rounded``: see :func:`mixed_graph`."""
        if self.type_name == QUANTISED_TYPE:
            return quantised_graph(self.model.graph, narrow, self.dtypes, self.ranges)
        return mixed_graph(self.model.graph, narrow, self.type_name, self.dtypes, rounded)

    def engine(self, graph: Graph) -> Engine:
        """An engine at the start of a run of a graph."""
        plan = self.model.plan if graph is self.model.graph else compile_graph(graph)
        engine = Engine(plan)
        slots = self.model.plan.slots
        inputs = {slots[slot]: data for slot, data in self._checked.items()}
        engine.start({plan.slot_of[value]: data for value, data in inputs.items() if value in plan.slot_of})
        return engine

    def run(self, narrow: Collection[Operation], rounded: Collection[Operation] = ()) -> MixedRun:
        """Run with these nodes in the narrower type; ``rounded``: see :func:`mixed_graph`.

        Raises:
            InterruptError: Ctrl-C.
        """
        self.count += 1
        engine = self.engine(self.mixed(narrow, rounded))
        engine.set_limits(self._limit)
        try:
            event, _ = engine.resume()
        except ExecutionError as error:
            return MixedRun(None, {}, error)
        if event == "interrupt":
            raise InterruptError("interrupted")
        totals = {plan.path: engine.loops.totals(plan.index)[0] for plan in engine.plan.loops}
        return MixedRun(engine.results() if event == "end" else None, totals)

    def output_errors(self, run: MixedRun) -> dict[str, Errors]:
        """The errors of the float outputs of a run; of one that failed everything is wrong."""
        assert self.wide_run.outputs is not None
        errors = {}
        for name, expected in self.wide_run.outputs.items():
            if isinstance(expected, np.ndarray) and expected.dtype == WIDE_TYPE:
                narrow = None if run.outputs is None else run.outputs[name]
                errors[name] = errors_between(expected, np.asarray(narrow) if narrow is not None else np.empty(0))
        return errors

    def error(self, run: MixedRun) -> float:
        """The largest relative error of any output; infinite where an output that is no float differs."""
        assert self.wide_run.outputs is not None
        if run.outputs is None:
            return math.inf
        for name, expected in self.wide_run.outputs.items():
            is_float = isinstance(expected, np.ndarray) and expected.dtype == WIDE_TYPE
            if (
                not is_float
                and isinstance(expected, np.ndarray)
                and not np.array_equal(expected, np.asarray(run.outputs[name]))
            ):
                return math.inf
        return max((errors.relative for errors in self.output_errors(run).values()), default=0.0)


@dataclass(eq=False)
class ValueErrors:
    """The errors of one value of a loop's body, or of the main graph (``loop`` is its path).

    ``by_metric``: those of each iteration, by metric; ``largest``: the largest finite number of the wide run;
    ``overflow``: the first iteration in which the narrow run alone is not finite; ``underflow``: the first one in which
    it is zero throughout and the wide run is not.
    """

    value: Value
    loop: str
    by_metric: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in METRICS})
    largest: float = 0.0
    overflow: int | None = None
    underflow: int | None = None

    def add(self, iteration: int, expected: Array, narrow: Array) -> None:
        """Add an iteration."""
        errors = errors_between(expected, narrow)
        for name, series in self.by_metric.items():
            if len(series) < MAX_ITERATIONS_KEPT:
                series.append(getattr(errors, name))
        finite = np.abs(expected[np.isfinite(expected)])
        self.largest = max(self.largest, float(finite.max(initial=0.0)))
        if errors.nonfinite and self.overflow is None:
            self.overflow = iteration
        if self.underflow is None and expected.size and not narrow.any() and expected.any():
            self.underflow = iteration


@dataclass(eq=False)
class LockstepErrors:
    """The errors of all values in two runs side by side. ``parted``: where the runs took other ways, as a sentence."""

    values: Mapping[tuple[str, Value], ValueErrors]
    parted: str = ""

    def errors_of_loop(self, path: str) -> Sequence[ValueErrors]:
        """Those of a loop's body."""
        return [errors for (loop, _), errors in self.values.items() if loop == path]


def compare_in_lockstep(runs: PrecisionRuns, narrow: Collection[Operation]) -> LockstepErrors:
    """Run the wide and a mixed model side by side, and compare the float values of each iteration.

    Raises:
        InterruptError: Ctrl-C.
    """
    engines = runs.engine(runs.model.graph), runs.engine(runs.mixed(narrow))
    errors: dict[tuple[str, Value], ValueErrors] = {}
    while True:
        pair = [_run_to_next_boundary(engine) for engine in engines]
        if pair[0] is None and pair[1] is None:
            _add_boundary_errors(errors, [FrameInternals(engine, -1) for engine in engines], runs, 0)
            return LockstepErrors(errors)
        places = [None if frame is None else (frame.path, frame.entry, frame.iteration) for frame in pair]
        if pair[0] is None or pair[1] is None or places[0] != places[1]:
            frame = pair[0] or pair[1]
            assert frame is not None
            side = "wide" if pair[1] is None else "narrow"
            return LockstepErrors(errors, f"only the {side} run reaches iteration {frame.iteration} of {frame.path}")
        if pair[0].iteration:
            _add_boundary_errors(errors, [pair[0], pair[1]], runs, pair[0].iteration - 1)
        if pair[0].stopped_by != pair[1].stopped_by:
            side = "narrow" if pair[0].stopped_by is None else "wide"
            place = f"iteration {pair[0].iteration - 1} of {pair[0].path}"
            return LockstepErrors(errors, f"the {side} run ends after {place}, the other one goes on")


def _run_to_next_boundary(engine: Engine) -> FrameInternals | None:
    """The next boundary of any loop; None at the end, or where the run fails."""
    engine.stop_anywhere()
    try:
        event, index = engine.resume()
    except ExecutionError:
        return None
    if event == "interrupt":
        raise InterruptError("interrupted")
    return frame_reader(Frame(engine, index)) if event == "boundary" else None


def _add_boundary_errors(
    errors: dict[tuple[str, Value], ValueErrors], pair: Sequence[FrameInternals], runs: PrecisionRuns, iteration: int
) -> None:
    values = list(_float_values(pair[0], runs))
    expected, narrow = (frame.read_all(values) for frame in pair)
    for value in values:
        if value in expected and value in narrow:
            row = errors.setdefault((pair[0].path, value), ValueErrors(value, pair[0].path))
            row.add(iteration, np.asarray(expected[value]), np.asarray(narrow[value]))


def _float_values(frame: FrameInternals, runs: PrecisionRuns) -> Iterator[Value]:
    """The float results of the nodes of a body, in order."""
    for entry in frame.nodes:
        for value in entry.node.outputs:
            if value is not None and runs.dtypes.get(value) == WIDE_TYPE:
                yield value


@dataclass
class Deadline:
    """A time at which a search ends."""

    seconds: float
    _start: float = field(default_factory=time.monotonic)

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return time.monotonic() - self._start > self.seconds
