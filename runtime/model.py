"""A loaded model: its signature, its loops, and headless runs."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .api_boundary import call_user_function, public, public_class, public_without_memory_guard
from .engine.baseline.memory import match_inputs
from .engine.engine import Engine
from .errors import ErrorFields, InputError, InterruptError, LimitError, ModelError, Remedy, UsageError
from .graph import (
    MAIN,
    Array,
    Graph,
    If,
    Loop,
    Node,
    OptionalType,
    StoppedBy,
    System,
    TensorType,
    Value,
    ValueType,
    bodies,
    loops,
)
from .graph.short_names import assign_short_names
from .input_validation import Data, check_value, resolve_aliases, variable_inputs
from .lazy_function_registry import load_plugin
from .plan.plan import Plan, compile_graph
from .record import record
from .run_result import LoopTotals, Run, run_totals

if TYPE_CHECKING:
    from .frame import Frame
    from .infinite_loop_detection import CycleDetector

OnIteration = Callable[["Frame"], object]
#: A larger output of a run without hooks is memory of the engine: a copy would cost more than another engine.
HAND_OVER_MIN_BYTES = 1 << 28


class EngineHook(ABC):
    """A hook that also uses the engine itself during a run."""

    @abstractmethod
    def __call__(self, frame: Frame) -> object:
        """As any hook."""

    @abstractmethod
    def _attach_engine(self, engine: Engine) -> None:
        """The run begins."""

    @abstractmethod
    def _detach_engine(self) -> None:
        """The run ended, possibly by an error."""


#: An engine with more shapes is discarded with its cached bindings: runs on ever new shapes must rebind in any case.
MAX_SHAPES_PER_ENGINE = 1000


@record(frozen=True)
class Port:
    """An input or output of a model. ``dtype`` and ``shape`` are None if the model does not declare them.

    >>> model.inputs
    [Port(name='a', ...), Port(name='tol', ...)]
    """

    name: str
    type: ValueType
    optional: bool = False
    #: Alternative names accepted for inputs: an OpenVINO IR's tensors may have several names.
    aliases: tuple[str, ...] = ()

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of a tensor's elements; None if undeclared, and for other types.

        >>> model.inputs[0].dtype
        dtype('float32')
        """
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> tuple[int | str | None, ...] | None:
        """The sizes of a tensor by axis, a name or None for unknown ones; None: any number of axes.

        >>> model.inputs[0].shape, model.outputs[1].shape
        ((), ('n',))
        """
        return self.type.shape if isinstance(self.type, TensorType) else None

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@record(frozen=True, repr=False)
class LoopNode:
    """A loop in the model's tree of loops; ``path``: ``main ▸ outer ▸ inner``.

    >>> model.loops
    [<Loop main ▸ sqrt>]
    """

    loop: Loop
    path: str
    children: tuple[LoopNode, ...] = ()

    def __repr__(self) -> str:
        inside = f", {len(self.children)} loops inside" if self.children else ""
        return f"<{self.loop.op_type} {self.path}{inside}>"

    @property
    def name(self) -> str:
        """The loop's name in the model.

        >>> model.loops[0].name
        'sqrt'
        """
        return self.loop.name


def _reopened(path: str, function: str, weights: str, stacked: bool, digest: str, state: dict[str, Array]) -> Model:
    """Reopen a pickled model.

    Raises:
        ModelError: the file is missing or has changed.
    """
    from .graph.graph_json import graph_digest

    model = load(f"{path}:{function}" if function else path, weights or None)
    if stacked:
        model = model.over_requests()
    if graph_digest(model.graph) != digest:
        raise ModelError(
            f"{path}: it, or a file in the same folder, has changed since the pickled model was opened; "
            "open it again and pickle that",
            name=str(path),
            got="a changed file",
        )
    model.state.update(state)
    return model


class RunObserver(Protocol):
    """Sets stops on an engine of its own, at which it looks at a run; see :meth:`Model.execute`."""

    engine: Engine

    def begin(self) -> None:
        """The engine is at the beginning of a run."""

    def stopped(self, event: str, index: int) -> None:
        """The engine stopped and will go on (``Engine.resume``)."""

    def finish(self, event: str, index: int) -> None:
        """The run is over: by an event of the engine, a sentence about an infinite loop, or an "error"."""


#: Makes the observer of a run that has none of its own (debugger/coverage/suite_coverage.py); None: there is none.
observer_factory: Callable[[Model], RunObserver | None] | None = None


class _CycleMonitor:
    """Checks long runs for infinite loops (infinite_loop_detection.py).

    ``on_tick``: additional callback.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.reset()

    def reset(self) -> None:
        """Prepare for another run."""
        self.on_tick: Callable[[], object] | None = None
        self._detector: CycleDetector | None = None

    def tick(self) -> None:
        """Called by the engine every few milliseconds."""
        if self._detector is None:
            # Lazy import: many runs are over by now.
            from .infinite_loop_detection import CycleDetector

            self._detector = CycleDetector(self.engine, time.monotonic())
        self._detector.tick()
        if self.on_tick is not None:
            self.on_tick()

    def run_until_end(self, observer: RunObserver | None = None) -> tuple[str, int]:
        """Run until an event of the engine ends the run, or an infinite loop is detected (as a message)."""
        while True:
            event, index = self.engine.resume()
            is_check = event == "boundary" and self._detector is not None and self._detector.stop_requested
            if is_check:
                assert self._detector is not None
                event, index = self._detector.check() or (event, index)
            if observer is not None and event in ("boundary", "predicate", "node"):
                observer.stopped(event, index)
            elif not is_check or event != "boundary":
                return event, index


@public_class
class Model:
    """A loaded model, as returned by :func:`load`.

    Attributes:
        graph: the loop graph.
        inputs, outputs: the signature, as :class:`Port` objects.
        loops: the loops of the main graph as :class:`LoopNode` objects, with inner loops as their ``children``.
        path: the file; None for an in-memory model.
        state: values of variables (OpenVINO's ReadValue and Assign) by name, which the next run reads.

    >>> model
    <Model newton_sqrt.onnx: (a float32[], tol float32[]) -> (root float32[], xs float32[n]), 1 loops>
    """

    def __init__(self, graph: Graph, path: Path | None = None, function: str = "", weights: Path | None = None) -> None:
        assign_short_names(graph)
        graph.function, graph.weights = function, weights
        self.graph = graph
        self.path = path
        if path is not None:
            graph.folder = os.path.dirname(os.path.abspath(path))
        self.state: dict[str, Array] = {}
        variable_values = {value for variable in graph.variables for value in variable.inputs}
        self.inputs: list[Port] = [_input_port(graph, value) for value in graph.inputs if value not in variable_values]
        names = graph.output_names or [v.name for v in graph.outputs]
        count = len(names) - sum(variable.assigned is not None for variable in graph.variables)
        self.outputs: list[Port] = [Port(name, v.type) for name, v in zip(names[:count], graph.outputs, strict=False)]
        self.loops: list[LoopNode] = _loop_tree(graph, MAIN)
        self._input_names = {port.name for port in self.inputs}
        #: The last accepted arrays: name, slot, dtype, shape. None: not all inputs were arrays.
        self._accepted_arrays: list[tuple[str, int, np.dtype[Any], tuple[int, ...]]] | None = None
        self._plan: Plan | None = None
        #: Cached engine with bound nodes, guarded by the lock; concurrent runs use their own engines.
        self._engine: Engine | None = None
        self._cycle_monitor: _CycleMonitor | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the file, or of the graph for an in-memory model.

        >>> model.name
        'newton_sqrt.onnx'
        """
        name = self.path.name if self.path else self.graph.name
        return f"{name}:{self.graph.function}" if self.graph.function else name

    @property
    def plan(self) -> Plan:
        """The compiled plan.

        Raises:
            UnsupportedError: an operator cannot be run.

        >>> [loop.path for loop in model.plan.loops]
        ['main ▸ sqrt']
        """
        if self._plan is None:
            try:
                self._plan = compile_graph(self.graph)
            except ModelError as error:
                raise type(error).with_location(str(self.path or self.name), error) from None
        return self._plan

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a model as its path, which is reopened on unpickling, and the values of its variables.

        Raises:
            UsageError: the model has no file.
        """
        from .graph.graph_json import graph_digest

        if self.path is None:
            raise UsageError(
                f"{self.name}: a model that came from no file cannot be pickled; save it, and load the file",
                name=self.name,
            )
        arguments = (
            str(self.path),
            self.graph.function,
            str(self.graph.weights or ""),
            self.graph.is_over_requests,
        )
        return _reopened, (*arguments, graph_digest(self.graph), self.state)

    def __repr__(self) -> str:
        ports = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        return f"<Model {self.name}: ({ports[0]}) -> ({ports[1]}), {len(loops(self.graph))} loops>"

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("model", self)
        return html

    def explain(self, loop: str | None = None, system: str | None = None) -> Any:
        """Explain the loops without running the model.

        Args:
            loop: Only loops of this name or path.
            system: Terminology of ``onnx``, ``openvino`` or ``tensorrt``; by default the model's own.

        Returns:
            A sequence of :class:`Explanation`, outer loops before inner ones; its ``str()`` is pseudo-code, ports, and
            the termination of each loop.

        Raises:
            UsageError: the loop or the system is unknown.

        >>> print(model.explain())
        Loop 'sqrt' (ONNX Loop...
        >>> [one.path for one in model.explain()]
        ['main ▸ sqrt']
        """
        return load_plugin("explain")(self, loop, system)

    def profile(
        self,
        inputs: Mapping[str, Data] | None = None,
        *,
        seconds: float = 1.0,
        max_iterations: int | None = None,
        against: str | None = None,
        roofline: bool = False,
    ) -> Any:
        """Measure where a run spends its time and memory, by loop, iteration, node and boundary.

        Args:
            inputs: As for :meth:`run`.
            seconds: How long it is measured, about; a run that takes longer is measured once in each way.
            max_iterations: As for :meth:`run`; a run that reaches it is measured up to there.
            against: ``onnxruntime`` or ``openvino``, which runs the model too, with one thread.
            roofline: Compare nodes whose operations and bytes are known with what this machine reaches, which takes a
                second to measure.

        Returns:
            The :class:`Profile`; its ``str()`` is a table.

        Raises:
            InputError: the inputs do not match the signature.
            ExecutionError: a node or boundary failed.
            LimitError: nothing ends a loop, and there is no limit.
            UsageError: the peer is not installed, or cannot run the model.

        >>> profile = model.profile(inputs, seconds=0.1)
        >>> profile.loops[0].path, profile.loops[0].iterations
        ('main ▸ sqrt', 5)
        """
        return load_plugin("profile")(self, inputs, seconds, max_iterations, against, roofline)

    def diagnose(
        self,
        inputs: Mapping[str, Data] | None = None,
        *,
        target_type: str | None = None,
        max_iterations: int | None = None,
    ) -> Any:
        """Run the model, and judge each iteration by itself: integers that overflow, a state that no longer changes, a
        tolerance that cannot be reached, NaN that decides, an index outside of its axis, and more.

        Args:
            inputs: As for :meth:`run`.
            target_type: ``float16``: judge also what float16 could not hold.
            max_iterations: As for :meth:`run`; a run that reaches it is judged up to there.

        Returns:
            The :class:`Diagnosis`; its ``str()`` has a line for each finding.

        Raises:
            InputError: the inputs do not match the signature.
            UsageError: the type is not known.

        >>> model.diagnose(inputs).findings
        ()
        """
        return load_plugin("diagnose")(self, inputs, target_type=target_type, max_iterations=max_iterations)

    def coverage(self, inputs: Mapping[str, Data] | None = None, *, max_iterations: int | None = None) -> Any:
        """Run once, and measure what the run covers of the loops: branches by iteration, terminations, clamps, indices
        at the ends of their range, zero, one and many iterations.

        Args:
            inputs: As for :meth:`run`.
            max_iterations: As for :meth:`run`; a run that reaches it covers what its iterations did.

        Returns:
            The :class:`Coverage`; its ``str()`` is a table. Coverage of several runs is added up by ``|``.

        Raises:
            InputError: the inputs do not match the signature.
            ExecutionError: a node or boundary failed.
            LimitError: nothing ends a loop, and there is no limit.

        >>> print(model.coverage(inputs))
        newton_sqrt.onnx: 2 of 4 points covered (50.0%) by 1 run
        ...
        """
        return load_plugin("coverage")(self, inputs, max_iterations)

    def precision(
        self,
        inputs: Mapping[str, Data] | None = None,
        type_name: str = "float16",
        *,
        only: Sequence[str] = (),
        keep: Sequence[str] = (),
        tolerance: float | None = None,
        seconds: float = 30.0,
        max_iterations: int | None = None,
        save: Path | None = None,
    ) -> Any:
        """Run this float32 model in a narrower type, next to the same run in float32.

        Args:
            inputs: As for :meth:`run`.
            type_name: ``float16``, ``bfloat16`` or ``int8``, where the operands of products and convolutions are
                quantised.
            only: Names of the nodes that are narrow, or patterns such as ``*MatMul*``; all where not given.
            keep: Names of nodes that stay float32, or patterns.
            tolerance: Find the nodes that have to stay float32 for a relative error of the outputs of this at most: the
                largest difference, divided by the largest number.
            seconds: How long nodes are tried, about.
            max_iterations: As for :meth:`run`.
            save: Write the model with Casts around the narrow nodes, or with their operands quantised (ONNX), without
                those found by ``tolerance``.

        Returns:
            The :class:`Precision`; its ``str()`` is a report.

        Raises:
            InputError: the inputs do not match the signature.
            ExecutionError: the float32 run fails.
            LimitError: the float32 run does not end.
            UsageError: an unknown type or node, or the file cannot be written.

        >>> precision = model.precision(inputs, keep=["Sub_4"])
        >>> precision.iterations
        {'main ▸ sqrt': (5, 4)}
        """
        return load_plugin("precision")(
            self, inputs, type_name, only=only, keep=keep, tolerance=tolerance, seconds=seconds,
            max_iterations=max_iterations, save=save,
        )  # fmt: skip

    def optimizations(
        self,
        inputs: Mapping[str, Data] | None = None,
        *,
        only: Sequence[str] = (),
        count: int = 1000,
        seconds: float = 60.0,
        peer: bool = True,
        save: Path | None = None,
    ) -> Any:
        """Find rewrites that make this model faster: unused values of loops, repeated work, loops that one operator
        replaces. Each is verified and measured; the model itself does not change.

        Args:
            inputs: As for :meth:`run`; the model is measured, and verified first, with these.
            only: Kinds of rewrites (docs/optimize.md); all where not given.
            count: Each rewrite has to give the same results on N inputs: edge cases, then random ones.
            seconds: How long rewrites are verified and measured, about.
            peer: Measure them too in onnxruntime (ONNX) or OpenVINO (IRs), where it is installed.
            save: Write the model with all of them, with all names and metadata.

        Returns:
            The :class:`Optimizations`; its ``str()`` is a report.

        Raises:
            UsageError: an unknown kind, a model without a file, or one that is neither ONNX nor an IR.
            LimitError: a loop does not end.
            ExecutionError: the model runs with none of the inputs.
            ModelError: the file cannot be written.

        >>> report = model.optimizations(inputs, count=60, seconds=1, peer=False)
        >>> [(item.kind, item.loop) for item in (*report.offered, *report.rejected)]
        [('unread-carried', 'main ▸ sqrt')]
        """
        return load_plugin("optimizations")(self, inputs, only, count, seconds, peer, save)

    @public_without_memory_guard
    def check(self, inputs: Mapping[str, Data]) -> dict[int, Data]:
        """Check inputs against the signature.

        Args:
            inputs: Inputs by name. Tensors may be anything that ``np.asarray`` converts without loss (an int64 array of
                small numbers for an int32 input is rejected; a Python number or list gets the input's dtype).

        Returns:
            The inputs by slot, with defaults.

        Raises:
            InputError: an input is missing, unknown, or has the wrong dtype or shape.

        >>> sorted(str(value) for value in model.check(inputs).values())
        ['1e-06', '2.0']
        """
        return self._check_unless_unchanged(inputs)

    def _check_unless_unchanged(self, inputs: Mapping[str, Data]) -> dict[int, Data]:
        # Fast path for unchanged dtypes and shapes: validation dominates short runs.
        checked = None if self._accepted_arrays is None else match_inputs(self._accepted_arrays, inputs)
        return self._check_inputs(inputs) if checked is None else checked

    def _check_inputs(self, inputs: Mapping[str, Data]) -> dict[int, Data]:
        inputs = resolve_aliases(self.graph, inputs)
        if not inputs.keys() <= self._input_names:
            name = next(name for name in inputs if name not in self._input_names)
            available = ", ".join(f"'{port.name}'" for port in self.inputs) or "none"
            raise InputError(f"the model has no input '{name}'; it has {available}", name=name)
        checked: dict[int, Data] = {}
        named: dict[str, int] = {}
        if self.graph.variables or self.state:
            checked |= {self.plan.slot_of[value]: data for value, data in variable_inputs(self.graph, self.state)}
        for (value, slot), port in zip(self.plan.inputs, self.inputs, strict=False):
            if port.name in inputs:
                checked[slot] = check_value(port.name, port.type, inputs[port.name], named)
            elif port.optional:
                checked[slot] = self.graph.defaults[value.name]
            elif isinstance(port.type, OptionalType):
                checked[slot] = None
            else:
                raise InputError(
                    f"input '{port.name}' ({port.type}) is missing",
                    Remedy.GIVE_INPUT,
                    name=port.name,
                    expected=str(port.type),
                )
        self._accepted_arrays = None
        if (
            len(inputs) == len(self.inputs)
            and not self.graph.variables
            and all(type(value) is np.ndarray for value in inputs.values())
        ):
            pairs = [(port.name, slot) for (_, slot), port in zip(self.plan.inputs, self.inputs, strict=True)]
            # If an input needed conversion, every run needs it.
            if all(checked[slot] is inputs[name] for name, slot in pairs):
                self._accepted_arrays = [(name, slot, inputs[name].dtype, inputs[name].shape) for name, slot in pairs]
        return checked

    @public_without_memory_guard
    def run(
        self,
        inputs: Mapping[str, Data] | None = None,
        *,
        on_iteration: OnIteration | None = None,
        max_iterations: int | None = None,
    ) -> dict[str, Data]:
        """Run to the end. Results are bit-identical with and without hooks, and when stepping.

        Args:
            inputs: Inputs by name.
            on_iteration: Called with the frame at every boundary of every loop: before iteration 0, and after each
                iteration (after the last one, ``frame.stopped_by`` is the reason of the end).
            max_iterations: Limit per loop entry.

        Returns:
            The outputs by name.

        Raises:
            InputError: the inputs do not match the signature.
            ExecutionError: a node or boundary failed.
            LimitError: a loop reached ``max_iterations``, or a provably infinite loop was rejected.
            InterruptError: Ctrl-C.

        >>> model.run({"a": 2.0, "tol": 1e-6})["root"]
        array(1.4142135, dtype=float32)
        """
        checked = self._check_unless_unchanged(inputs or {})
        observer = None if observer_factory is None else observer_factory(self)
        engine = self._acquire_engine() if observer is None else observer.engine
        try:
            event, index = self._run_engine(engine, checked, on_iteration, max_iterations, observer=observer)
            if event == "end":
                return self._take_results(engine, on_iteration is None)
            message = self._stop_message(engine, event, index, max_iterations)
            if event == "interrupt":
                index = engine.stack[-1] if engine.stack else -1
            fields = engine.memory.loop_fields(index) if index >= 0 else ErrorFields()
        finally:
            self._release_engine(engine)
        raise InterruptError(message, **fields) if event == "interrupt" else LimitError(message, **fields)

    @public_without_memory_guard
    def execute(
        self,
        inputs: Mapping[str, Data] | None = None,
        *,
        on_iteration: OnIteration | None = None,
        max_iterations: int | None = None,
        on_tick: Callable[[Run], object] | None = None,
        begin: Callable[[Engine], object] | None = None,
        observer: RunObserver | None = None,
    ) -> Run:
        """Like :meth:`run`, but returns loop totals, and returns also after a limit or an interrupt.

        Args:
            inputs: As for :meth:`run`.
            on_iteration: As for :meth:`run`.
            max_iterations: As for :meth:`run`.
            on_tick: Called at most a few times per second with the totals so far.
            begin: Called with the engine before the first instruction; may move it to the start of the run. Hooks are
                called only afterwards.
            observer: Looks at the run at stops of its own, such as
                ``CoverageRecorder``; the run takes place on its engine.

        Returns:
            Outputs and loop totals.

        >>> model.execute(inputs).loops[0].iterations
        5
        """
        checked = self._check_unless_unchanged(inputs or {})
        if observer is None and observer_factory is not None and begin is None:
            observer = observer_factory(self)
        engine = self._acquire_engine() if observer is None else observer.engine
        try:
            event, index = self._run_engine(engine, checked, on_iteration, max_iterations, on_tick, begin, observer)
            run = Run(notes=tuple(self.graph.notes))
            if event == "end":
                from .shape_contradictions import contradiction_notes

                run.outputs = self._take_results(engine, on_iteration is None and begin is None and observer is None)
                run.notes = (*run.notes, *contradiction_notes(engine, None), *self._type_notes(engine))
                run.loops = self._totals_with_notes(engine)
            else:
                run.stopped_by = StoppedBy.INTERRUPT if event == "interrupt" else StoppedBy.LIMIT
                run.loops = run_totals(engine, run.stopped_by)
                run.message = self._stop_message(engine, event, index, max_iterations)
            return run
        finally:
            self._release_engine(engine)

    def _run_engine(
        self,
        engine: Engine,
        checked: Mapping[int, Data],
        on_iteration: OnIteration | None,
        max_iterations: int | None,
        on_tick: Callable[[Run], object] | None = None,
        begin: Callable[[Engine], object] | None = None,
        observer: RunObserver | None = None,
    ) -> tuple[str, int]:
        """Run until an event ends the run; returns the event and the loop."""
        # Ticks read iteration counts, but no values.
        outputs_only = on_iteration is None and begin is None
        engine.start(checked, outputs_only)
        engine.set_limits(max_iterations, True)
        monitor = (
            self._cycle_monitor if engine is self._engine and self._cycle_monitor is not None else _CycleMonitor(engine)
        )
        monitor.reset()
        if on_tick is not None:
            monitor.on_tick = lambda: call_user_function(on_tick, Run({}, run_totals(engine)))
        if begin is not None:
            begin(engine)
        engine.on_tick = monitor.tick
        if observer is not None:
            observer.begin()
        event, index = "error", -1
        try:
            if on_iteration is not None:
                engine.set_hook(_boundary_hook(engine, on_iteration))
            if isinstance(on_iteration, EngineHook):
                on_iteration._attach_engine(engine)
            event, index = monitor.run_until_end(observer)
            return event, index
        except LimitError:
            event, index = "limit", engine.stack[-1]
            raise
        finally:
            try:
                if isinstance(on_iteration, EngineHook):
                    on_iteration._detach_engine()
                if observer is not None:
                    observer.finish(event, index)
            finally:
                if on_iteration is not None:
                    engine.set_hook(None)
                engine.on_tick = None

    def _take_results(self, engine: Engine, is_unobserved: bool) -> dict[str, Data]:
        """The results of a finished run; stores the variables for the next run. ``is_unobserved``: nothing else
        refers to values of the engine."""
        results: dict[str, Data] = engine.results(HAND_OVER_MIN_BYTES if is_unobserved else None)
        if self.graph.variables:
            self._store_variables(engine)
        return results

    def _stop_message(self, engine: Engine, event: str, index: int, limit: int | None) -> str:
        """The message for a run that stopped before its end."""
        if event.startswith("loop "):
            return event
        if event == "limit":
            from .frame_internals import max_trip_count
            from .infinite_loop_detection import is_fixed_point

            loop = engine.plan.loops[index].loop
            message = f"loop '{loop.name}' reached the limit of {limit} iterations without ending"
            if is_fixed_point(engine, index):
                message += "; what it carries is bit for bit as one iteration ago, and nothing else enters: "
                trips = max_trip_count(engine, engine.plan.loops[index])
                message += "no greater limit helps" if trips is None else f"its trip count of {trips} alone ends it"
            return message
        stack = engine.stack
        if not stack:
            return "interrupted outside of any loop"
        return f"interrupted in {engine.memory.describe_loop(stack[-1])}"

    def _acquire_engine(self) -> Engine:
        """Acquire an engine, to be released with ``_release_engine``."""
        if not self._lock.acquire(False):
            return Engine(self.plan)
        try:
            if self._engine is None:
                self._engine = Engine(self.plan)
                self._cycle_monitor = _CycleMonitor(self._engine)
        except BaseException:
            self._lock.release()
            raise
        return self._engine

    def _release_engine(self, engine: Engine) -> None:
        """Release an engine after a run."""
        if engine is not self._engine:
            return
        # Records remain if a hook failed to detach: the next run would fill them as well.
        if engine.spec_count > MAX_SHAPES_PER_ENGINE or engine.handed_over or engine.monitor.has_records:
            self._engine = None
        self._lock.release()

    def _type_notes(self, engine: Engine) -> list[str]:
        """Notes on ONNX operators whose version does not support the type of an input."""
        if self.graph.system is not System.ONNX:
            return []
        from .frontends.onnx.type_checks import disallowed_type_notes

        def value_type(value: Value) -> ValueType:
            slot = engine.plan.slot_of.get(value)
            dtype_and_shape = None if slot is None else engine.memory.dtype_and_shape(slot)
            return value.type if dtype_and_shape is None else TensorType(*dtype_and_shape)

        return disallowed_type_notes(self.graph, value_type)

    def _totals_with_notes(self, engine: Engine) -> list[LoopTotals]:
        """The loop totals of a finished run, with notes."""
        from .runtime_deviation_notes import notes_for_run
        from .shape_contradictions import contradiction_notes

        return [
            replace(loop, notes=(*loop.notes, *notes_for_run(plan, engine), *contradiction_notes(engine, plan)))
            if loop.entries
            else loop
            for loop, plan in zip(run_totals(engine), engine.plan.loops, strict=True)
        ]

    def reset(self) -> None:
        """Reset the variables: the next run begins with their initial values.

        >>> model.reset()
        >>> model.state
        {}
        """
        self.state.clear()

    def over_requests(self) -> Model:
        """Convert a stateful model to one whose run is a loop over several runs, with the variables carried.

        Returns:
            A model whose inputs and outputs have an additional leading axis, the runs.

        Raises:
            UsageError: the model has no variables, no inputs, or an input that is not a tensor.

        >>> model.over_requests()
        Traceback (most recent call last):
        loopdbg.UsageError: newton_sqrt.onnx keeps no variables
        """
        from .graph.stateful_runs_as_loop import unroll_stacked_requests

        model = Model(unroll_stacked_requests(self.graph), self.path, self.graph.function, self.graph.weights)
        model.graph.is_over_requests = True
        model.state.update(self.state)
        return model

    def _store_variables(self, engine: Engine) -> None:
        for variable in self.graph.variables:
            if variable.assigned is not None:
                self.state[variable.name] = np.array(engine.value(engine.plan.slot_of[variable.assigned]))


def _input_port(graph: Graph, value: Value) -> Port:
    aliases = tuple(alias for alias, name in graph.aliases.items() if name == value.name)
    return Port(value.name, value.type, value.name in graph.defaults, aliases)


def _boundary_hook(engine: Engine, on_iteration: OnIteration) -> Callable[[int], None]:
    from .frame import Frame  # lazy: only needed with hooks

    def hook(index: int) -> None:
        call_user_function(on_iteration, Frame(engine, index))  # the return value is ignored

    return hook


@public
def load(source: Any, weights: str | Path | None = None, *, inputs: Any = None) -> Model:
    """Read a model from a file or from an in-memory object of another library.

    Args:
        source: A path: ONNX in any form that ``onnx.load`` reads, OpenVINO IR, or a script (``model.py``,
            ``model.py:function``), which is run and builds a network with TensorRT's API. Or an object: the bytes of an
            ONNX model or an open file, an ``onnx.ModelProto``, an ``onnx_ir.Model``, a ``torch.onnx.ONNXProgram``, an
            onnxscript function, an ``openvino.Model``, an onnxruntime ``InferenceSession``, a network of the TensorRT
            stand-in, a ``torch.export.ExportedProgram`` or a ``torch.nn.Module``.
        weights: The file with an IR's constants; by default the ``.bin`` file in the same folder.
        inputs: Example inputs for the export of a ``torch.nn.Module``: a tuple, or keywords by name.

    Returns:
        The model.

    Raises:
        ModelError: a file is missing or broken, or its own specification rejects the model.
        UsageError: the source is not a model.

    >>> loopdbg.load("newton_sqrt.onnx").outputs[0].name
    'root'
    """
    from .frontends import read_model, split_model_path

    if isinstance(source, str | os.PathLike):
        path = source
    else:
        from .in_memory_models import graph_from_object

        loaded = graph_from_object(source, inputs)
        if not isinstance(loaded, Path):
            return Model(loaded)
        path = loaded
    file, function = split_model_path(path)
    return Model(read_model(file, weights, function), file, function, None if weights is None else Path(weights))


def _loop_tree(graph: Graph, path: str) -> list[LoopNode]:
    nodes: list[LoopNode] = []
    for node in graph.nodes:
        if isinstance(node, Loop):
            inner = f"{path} ▸ {node.name}"
            nodes.append(LoopNode(node, inner, tuple(_loop_tree(node.body, inner))))
        elif isinstance(node, If):
            for branch_name, branch in bodies(node):
                nodes.extend(_loop_tree(branch, f"{path} ▸ {node.name} ({branch_name})"))
    return nodes


__all__ = ["Data", "LoopNode", "LoopTotals", "Model", "Node", "Port", "Run", "Value", "load"]
