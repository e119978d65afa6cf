"""A loaded model: its signature, its loops, and headless runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .api_boundary import call_user, public, public_class, public_run
from .engine.baseline.memory import match_inputs
from .engine.engine import Engine
from .errors import InputError, InterruptError, LimitError, ModelError, Remedy, UsageError
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
from .input_validation import Data, check_value, variable_inputs
from .model_internals import LoopTotals, ModelInternals, Run
from .plan.plan import Plan, compile_graph
from .plugin_registry import load_plugin
from .record import record
from .run_notes import notes_for_run
from .shape_contradictions import contradiction_notes

if TYPE_CHECKING:
    from .cycle_detection import CycleDetector
    from .frame import Frame

OnIteration = Callable[["Frame"], object]

#: Seconds until a run is looked at whether it can end.
CYCLE_CHECK_AFTER_SECONDS = 2.0
#: A run on ever new shapes binds anew in any case; an engine that met so many is put away with what it keeps of them.
MAX_SHAPES_PER_ENGINE = 1000


@record(frozen=True)
class Port:
    """One input or output of a model. ``dtype`` and ``shape`` are None where the model does not tell.

    >>> model.inputs
    [Port(name='a', ...), Port(name='tol', ...)]
    """

    name: str
    type: ValueType
    optional: bool = False
    #: What it goes by as well, where inputs are given: an IR's tensors may have several names.
    aliases: tuple[str, ...] = ()

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of a tensor's elements; None where the model does not tell, and of what is no tensor.

        >>> model.inputs[0].dtype
        dtype('float32')
        """
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> tuple[int | str | None, ...] | None:
        """A tensor's sizes by axis, a name or None for those that are not known; None: any number of axes.

        >>> model.inputs[0].shape, model.outputs[1].shape
        ((), ('n',))
        """
        return self.type.shape if isinstance(self.type, TensorType) else None

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@record(frozen=True, repr=False)
class LoopNode:
    """A loop of the model in the tree of loops; ``path`` says where it stands: ``main ▸ outer ▸ inner``.

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


def _reopened(path: str, function: str, weights: str, requests: bool, was: str, state: dict[str, Array]) -> Model:
    """A model that was pickled.

    Raises:
        ModelError: the file is gone, or another one by now.
    """
    from .graph.graph_json import graph_digest

    model = load(f"{path}:{function}" if function else path, weights or None)
    if requests:
        model = model.over_requests()
    if graph_digest(model.graph) != was:
        raise ModelError(
            f"{path}: it, or a file beside it, is another one than when the pickled model was opened; "
            "open it again and pickle that"
        )
    model.state.update(state)
    return model


class _CycleMonitor:
    """A run that takes long is looked at: it may be one that cannot end (cycle_detection.py).

    ``on_tick``: called besides.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.reset()

    def reset(self) -> None:
        """Another run begins."""
        self.on_tick: Callable[[], object] | None = None
        #: When it was first asked, a few milliseconds after the run began; 0: not yet.
        self._started_at = 0.0
        self._detector: CycleDetector | None = None

    def tick(self) -> None:
        """Called by the engine every few milliseconds."""
        self._started_at = self._started_at or time.monotonic()
        if self._detector is not None:
            self._detector.tick()
        elif time.monotonic() - self._started_at >= CYCLE_CHECK_AFTER_SECONDS:
            # Not at the top: few runs take so long.
            from .cycle_detection import CycleDetector

            self._detector = CycleDetector(self.engine, self._started_at)
        if self.on_tick is not None:
            self.on_tick()

    def run_until_end(self) -> tuple[str, int]:
        """Run until something ends the run: as the engine says it, or in a sentence that nothing will."""
        while True:
            what, index = self.engine.resume()
            if what != "boundary" or self._detector is None or not self._detector.stop_requested:
                return what, index
            found = self._detector.check()
            if found is not None:
                return found


@public_class
class Model:
    """What :func:`load` returns. ``graph`` is the loop graph as the front end read it.

    ``inputs``, ``outputs``: its signature, a :class:`Port` each; ``loops``: the loops of the main graph, a
    :class:`LoopNode` each, with those inside as their ``children``; ``path``: the file, None where it came from none;
    ``state``: what runs assigned to variables (OpenVINO's ReadValue and Assign), by name: the next run reads it.

    >>> model
    <Model newton_sqrt.onnx: (a float32[], tol float32[]) -> (root float32[], xs float32[n]), 1 loops>
    """

    def __init__(self, graph: Graph, path: Path | None = None, function: str = "", weights: Path | None = None) -> None:
        assign_short_names(graph)
        self.graph = graph
        self.path = path
        if path is not None:
            graph.folder = os.path.dirname(os.path.abspath(path))
        #: What runs assigned to variables, by name (OpenVINO's ReadValue and Assign); the next run reads it.
        self.state: dict[str, Array] = {}
        kept = {value for variable in graph.variables for value in variable.inputs}
        self.inputs = [_input_port(graph, value) for value in graph.inputs if value not in kept]
        names = graph.output_names or [v.name for v in graph.outputs]
        count = len(names) - sum(variable.assigned is not None for variable in graph.variables)
        self.outputs = [Port(name, v.type) for name, v in zip(names[:count], graph.outputs, strict=False)]
        self.loops = _loop_tree(graph, MAIN)
        self._input_names = {port.name for port in self.inputs}
        #: For our own readers: what is in there may change with any version.
        self._internals = ModelInternals(graph, self._input_names, function, weights)
        #: The arrays that fitted last: name, slot, dtype, shape. None: what fitted were no arrays.
        self._accepted_arrays: list[tuple[str, int, np.dtype[Any], tuple[int, ...]]] | None = None
        self._plan: Plan | None = None
        #: Its nodes stay bound between runs; whoever runs has the lock, and others beside it engines of their own.
        self._engine: Engine | None = None
        self._cycle_monitor: _CycleMonitor | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The file's name, or the graph's where the model came from no file.

        >>> model.name
        'newton_sqrt.onnx'
        """
        name = self.path.name if self.path else self.graph.name
        return f"{name}:{self._internals.function}" if self._internals.function else name

    @property
    def plan(self) -> Plan:
        """The compiled plan.

        Raises:
            UnsupportedError: an operator that nothing can run.

        >>> [loop.path for loop in model.plan.loops]
        ['main ▸ sqrt']
        """
        if self._plan is None:
            try:
                self._plan = compile_graph(self.graph)
            except ModelError as error:
                raise type(error)(f"{self.path or self.name}: {error}") from None
        return self._plan

    def __reduce__(self) -> tuple[Any, ...]:
        """A model is pickled as the file that it is in, which is opened again where it is unpickled, with what it keeps
        of its variables.

        Raises:
            UsageError: it came from no file.
        """
        from .graph.graph_json import graph_digest

        if self.path is None:
            raise UsageError(
                f"{self.name}: a model that came from no file cannot be pickled; save it, and load the file"
            )
        opened = (
            str(self.path),
            self._internals.function,
            str(self._internals.weights or ""),
            self._internals.is_over_requests,
        )
        return _reopened, (*opened, graph_digest(self.graph), self.state)

    def __repr__(self) -> str:
        ports = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        return f"<Model {self.name}: ({ports[0]}) -> ({ports[1]}), {sum(1 for _ in loops(self.graph))} loops>"

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("model", self)
        return drawn

    def explain(self, loop: str | None = None, system: str | None = None) -> Any:
        """What the loops mean, without running anything: a sequence of :class:`Explanation`, outer loops before inner
        ones; ``str()`` of it is pseudo-code, ports, and what ends each loop.

        ``loop``: only those of this name or path; ``system``: in the words of ``onnx``, ``openvino`` or ``tensorrt``,
        the model's own by default.

        Raises:
            UsageError: there is no such loop, or no such system.

        >>> print(model.explain())
        Loop 'sqrt' (ONNX Loop...
        >>> [one.path for one in model.explain()]
        ['main ▸ sqrt']
        """
        return load_plugin("explain")(self, loop, system)

    @public_run
    def check(self, inputs: Mapping[str, Data]) -> dict[int, Data]:
        """Check inputs against the signature; returns them by slot, defaults filled in.

        Tensors may come as anything ``np.asarray`` takes where that loses nothing (an int64 array of small numbers for
        an int32 input is refused; a Python number or list takes the input's dtype).

        Raises:
            InputError: an input is missing, unknown, or has the wrong dtype or shape.

        >>> sorted(str(value) for value in model.check(inputs).values())
        ['1e-06', '2.0']
        """
        return self._check_unless_unchanged(inputs)

    def _check_unless_unchanged(self, inputs: Mapping[str, Data]) -> dict[int, Data]:
        # Arrays as they were before need no second look: in a short run, looking is what takes the time.
        checked = None if self._accepted_arrays is None else match_inputs(self._accepted_arrays, inputs)
        return self._check_inputs(inputs) if checked is None else checked

    def _check_inputs(self, inputs: Mapping[str, Data]) -> dict[int, Data]:
        inputs = self._internals.resolve_aliases(inputs)
        if not inputs.keys() <= self._input_names:
            name = next(name for name in inputs if name not in self._input_names)
            have = ", ".join(f"'{port.name}'" for port in self.inputs) or "none"
            raise InputError(f"the model has no input '{name}'; it has {have}")
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
                raise InputError(f"input '{port.name}' ({port.type}) is missing", Remedy.GIVE_INPUT, name=port.name)
        self._accepted_arrays = None
        if (
            len(inputs) == len(self.inputs)
            and not self.graph.variables
            and all(type(value) is np.ndarray for value in inputs.values())
        ):
            pairs = [(port.name, slot) for (_, slot), port in zip(self.plan.inputs, self.inputs, strict=True)]
            # Where one of them had to be made to fit, each run has to.
            if all(checked[slot] is inputs[name] for name, slot in pairs):
                self._accepted_arrays = [(name, slot, inputs[name].dtype, inputs[name].shape) for name, slot in pairs]
        return checked

    @public_run
    def run(
        self,
        inputs: Mapping[str, Data] | None = None,
        *,
        on_iteration: OnIteration | None = None,
        max_iterations: int | None = None,
    ) -> dict[str, Data]:
        """Run to the end; returns the outputs by name.

        ``on_iteration(frame)`` is called at every boundary of every loop: before iteration 0, and after each iteration
        (after the last one ``frame.stopped_by`` says why the loop ends).

        Every way of running gives the same bits, with or without hooks, as stepping does.

        Raises:
            InputError: inputs that do not fit the signature.
            ExecutionError: a node or boundary failed.
            LimitError: ``max_iterations`` was reached in a loop, or a loop that nothing can end was refused.
            InterruptError: Ctrl-C.

        >>> model.run({"a": 2.0, "tol": 1e-6})["root"]
        array(1.4142135, dtype=float32)
        """
        given = self._check_unless_unchanged(inputs or {})
        engine = self._acquire_engine()
        try:
            what, index = self._run_engine(engine, given, on_iteration, max_iterations)
            if what == "end":
                return self._take_results(engine)
            message = self._stop_message(engine, what, index, max_iterations)
        finally:
            self._release_engine(engine)
        raise InterruptError(message) if what == "interrupt" else LimitError(message)

    @public_run
    def execute(
        self,
        inputs: Mapping[str, Data] | None = None,
        *,
        on_iteration: OnIteration | None = None,
        max_iterations: int | None = None,
        on_tick: Callable[[Run], object] | None = None,
        begin: Callable[[Engine], object] | None = None,
    ) -> Run:
        """As :meth:`run`, but tells how the loops went, and returns also where a limit or an interrupt ended it.

        ``on_tick(run)`` is called a few times a second at most, with the totals so far. ``begin(engine)`` may bring the
        engine, which stands before the first instruction, to where the run is to go on; no hook is called till then.

        >>> model.execute(inputs).loops[0].iterations
        5
        """
        given = self._check_unless_unchanged(inputs or {})
        engine = self._acquire_engine()
        try:
            what, index = self._run_engine(engine, given, on_iteration, max_iterations, on_tick, begin)
            run = Run(notes=tuple(self.graph.notes))
            if what == "end":
                run.outputs = self._take_results(engine)
                run.notes = (*run.notes, *contradiction_notes(engine, None), *self._type_notes(engine))
                run.loops = self._totals_with_notes(engine)
            else:
                run.stopped_by = StoppedBy.INTERRUPT if what == "interrupt" else StoppedBy.LIMIT
                run.loops = self._internals.totals(engine, run.stopped_by)
                run.message = self._stop_message(engine, what, index, max_iterations)
            return run
        finally:
            self._release_engine(engine)

    def _run_engine(
        self,
        engine: Engine,
        given: Mapping[int, Data],
        on_iteration: OnIteration | None,
        max_iterations: int | None,
        on_tick: Callable[[Run], object] | None = None,
        begin: Callable[[Engine], object] | None = None,
    ) -> tuple[str, int]:
        """Run until something ends it: what, and the loop."""
        # Ticks are told of iterations, and read no value.
        unseen = on_iteration is None and begin is None
        engine.start(given, unseen)
        engine.set_limits(max_iterations, True)
        late = (
            self._cycle_monitor if engine is self._engine and self._cycle_monitor is not None else _CycleMonitor(engine)
        )
        late.reset()
        if on_tick is not None:
            late.on_tick = lambda: call_user(on_tick, Run({}, self._internals.totals(engine)))
        if begin is not None:
            begin(engine)
        engine.on_tick = late.tick
        try:
            if on_iteration is not None:
                engine.set_hook(_boundary_hook(engine, on_iteration))
            return late.run_until_end()
        finally:
            if on_iteration is not None:
                engine.set_hook(None)
            engine.on_tick = None

    def _take_results(self, engine: Engine) -> dict[str, Data]:
        """The results of a run that ended, and what it leaves for the next one."""
        results = self._internals.results(engine)
        if self.graph.variables:
            self._keep_state(engine)
        return results

    def _stop_message(self, engine: Engine, what: str, index: int, limit: int | None) -> str:
        """What ended a run before its end."""
        if what.startswith("loop "):
            return what
        if what == "limit":
            from .cycle_detection import is_fixed_point
            from .max_trip_count import max_trip_count

            loop = engine.plan.loops[index].loop
            told = f"loop '{loop.name}' reached the limit of {limit} iterations without ending"
            if is_fixed_point(engine, index):
                told += "; what it carries is bit for bit as one iteration ago, and nothing else enters: "
                trips = max_trip_count(engine, engine.plan.loops[index])
                told += "no greater limit helps" if trips is None else f"its trip count of {trips} alone ends it"
            return told
        stack = engine.stack
        if not stack:
            return "interrupted outside of any loop"
        return f"interrupted in {engine.memory.describe_loop(stack[-1])}"

    def _acquire_engine(self) -> Engine:
        """An engine to run on, and to give back."""
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
        """Nobody runs on it any more."""
        if engine is not self._engine:
            return
        if engine.spec_count > MAX_SHAPES_PER_ENGINE:
            self._engine = None
        self._lock.release()

    def _type_notes(self, engine: Engine) -> list[str]:
        """Of ONNX models: operators whose version does not list a type that they got."""
        if self.graph.system is not System.ONNX:
            return []
        from .frontends.onnx.type_checks import type_notes

        def kind(value: Value) -> ValueType:
            slot = engine.plan.slot_of.get(value)
            known = None if slot is None else engine.memory.dtype_and_shape(slot)
            return value.type if known is None else TensorType(*known)

        return type_notes(self.graph, kind)

    def _totals_with_notes(self, engine: Engine) -> list[LoopTotals]:
        """How the loops of a run that ended went, with what was noticed."""
        return [
            replace(loop, notes=(*loop.notes, *notes_for_run(plan, engine), *contradiction_notes(engine, plan)))
            if loop.entries
            else loop
            for loop, plan in zip(self._internals.totals(engine), engine.plan.loops, strict=True)
        ]

    def reset(self) -> None:
        """Forget what runs assigned to variables: the next one begins with their initial values.

        >>> model.reset()
        >>> model.state
        {}
        """
        self.state.clear()

    def over_requests(self) -> Model:
        """A model whose run is several runs of this one, each going on with the variables that the one before assigned:
        every input and every output has one more axis in front, that of the runs, which are a loop.

        Raises:
            UsageError: it keeps no variables, has no inputs, or one that is no tensor.

        >>> model.over_requests()
        Traceback (most recent call last):
        loopdbg.UsageError: newton_sqrt.onnx keeps no variables
        """
        from .graph.stateful_unroll import unroll_stacked_requests

        made = Model(unroll_stacked_requests(self.graph), self.path, self._internals.function, self._internals.weights)
        made._internals.is_over_requests = True
        made.state.update(self.state)
        return made

    def _keep_state(self, engine: Engine) -> None:
        for variable in self.graph.variables:
            if variable.assigned is not None:
                self.state[variable.name] = np.array(engine.value(engine.plan.slot_of[variable.assigned]))


def _input_port(graph: Graph, value: Value) -> Port:
    aliases = tuple(alias for alias, name in graph.aliases.items() if name == value.name)
    return Port(value.name, value.type, value.name in graph.defaults, aliases)


def _boundary_hook(engine: Engine, on_iteration: OnIteration) -> Callable[[int], None]:
    from .frame import Frame  # a run without hooks needs none

    def hook(index: int) -> None:
        call_user(on_iteration, Frame(engine, index))  # whatever it returns stops nothing

    return hook


@public
def load(source: Any, weights: str | Path | None = None, *, inputs: Any = None) -> Model:
    """Read a model: from a file, or from what another library holds in memory.

    A path: ONNX in any form that ``onnx.load`` reads, OpenVINO IR, or a script (``model.py``, ``model.py:function``),
    which is run: it builds a network with TensorRT's API. ``weights``: the file with an IR's constants, where it is not
    the ``.bin`` beside it.

    In memory: the bytes of an ONNX model or an open file, an ``onnx.ModelProto``, an ``onnx_ir.Model``, a
    ``torch.onnx.ONNXProgram``, an onnxscript function, an ``openvino.Model``, an onnxruntime ``InferenceSession``, a
    TensorRT network of the stand-in; a ``torch.export.ExportedProgram`` and a ``torch.nn.Module`` are exported,
    the latter with example ``inputs`` (a tuple, or keywords by name).

    Raises:
        ModelError: a file is missing or broken, or its own specification rejects the model.
        UsageError: what is given is no model.

    >>> loopdbg.load("newton_sqrt.onnx").outputs[0].name
    'root'
    """
    from .frontends import read_model, split_model_path

    if isinstance(source, str | os.PathLike):
        path = source
    else:
        from .in_memory_models import graph_from_object

        found = graph_from_object(source, inputs)
        if not isinstance(found, Path):
            return Model(found)
        path = found
    file, function = split_model_path(path)
    return Model(read_model(file, weights, function), file, function, None if weights is None else Path(weights))


def _loop_tree(graph: Graph, path: str) -> list[LoopNode]:
    found: list[LoopNode] = []
    for node in graph.nodes:
        if isinstance(node, Loop):
            inner = f"{path} ▸ {node.name}"
            found.append(LoopNode(node, inner, tuple(_loop_tree(node.body, inner))))
        elif isinstance(node, If):
            for word, branch in bodies(node):
                found.extend(_loop_tree(branch, f"{path} ▸ {node.name} ({word})"))
    return found


__all__ = ["Data", "LoopNode", "LoopTotals", "Model", "Node", "Port", "Run", "Value", "load"]
