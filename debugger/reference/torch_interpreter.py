"""Runs an exported program node by node, including the bodies of its loops, and records each result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...runtime.errors import ExecutionError, LoopdbgError
from .program_track import ProgramTrack
from .reference import Key
from .torch_graph import (
    CONTROL_OPERATORS,
    GraphPath,
    carried_positions,
    control_operator_name,
    is_mutated_in_place,
    loop_path,
    operator_name,
    source_location,
    walk_nodes,
)
from .torch_nested_loops import ProgramRun
from .torch_recurrent_states import RECURRENT_OPERATORS, record_states
from .torch_rerolling import RerolledLoops, reroll_loops
from .torch_tensors import ValueStore, as_array, restore_vmap_level
from .torch_threads import limit_threads


class IterationLimitReached(Exception):
    """A loop reached the maximum number of iterations without ending."""


class ProgramRecording:
    """The results of one run of a program.

    ``trips``: loop -> iterations of the outer loops -> number of iterations, for loops that ended.
    """

    def __init__(self, module: Any, store: ValueStore, max_iterations: int | None = None) -> None:
        self.module = module
        self.store = store
        self.max_iterations = max_iterations
        self.trips: dict[str, dict[Key, int]] = {}
        self._sites = list(walk_nodes(module))
        self._tracks = {(path, node.name): track for path, node, track in self._sites}
        self._steps: dict[str, list[ProgramTrack]] = {}

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """Run the program; return its results, or None if the iteration limit ended it.

        Raises:
            ExecutionError: a node of the program failed.
            LimitError: the values exceed the memory limit.
        """
        try:
            with limit_threads(self.module), restore_vmap_level():
                return tuple(RecordingInterpreter(self, self.module).run(*arguments))
        except IterationLimitReached:
            return None

    @property
    def tracks(self) -> list[ProgramTrack]:
        """All values of the run, in program order; steps of a recurrent layer come before its results."""
        tracks: list[ProgramTrack] = []
        for (path, _), track in self._tracks.items():
            if track.output is None:
                tracks += self._steps.get("/".join((*path, track.node)), [])
            tracks += [track] if track.values else []
        return tracks

    def rerolled_loops(self, arguments: Sequence[Any]) -> RerolledLoops:
        """The Python loops that the program is unrolled from. ``arguments``: those of the run."""
        inputs = self.module.graph.find_nodes(op="placeholder")
        feeds = {
            node.name: value for node, value in zip(inputs, arguments, strict=False) if not is_mutated_in_place(node)
        }

        def input_values(name: str) -> Mapping[Key, Any]:
            array = as_array(feeds.get(name))
            return {} if array is None else {(): array}

        program_run = ProgramRun(self.tracks, self.trips, carried_positions(self.module))
        return reroll_loops(self._sites, program_run, input_values)

    def record_value(self, path: GraphPath, node: Any, key: Key, value: Any) -> None:
        """Record the result of a node in an iteration."""
        track = self._tracks.get((path, node.name))
        if track is not None:
            self.store.add(track.values, key, value, f"{key} of '{track.name}'")

    def record_states(self, path: GraphPath, node: Any, key: Key, loop: str, arguments: Sequence[Any]) -> None:
        """Record the states of a recurrent layer that is one node, step by step."""
        scope = "/".join((*path, node.name))
        base = ProgramTrack(
            scope, {}, loop, operator_name(node.target), node.name, source_location(node), graph=(*path, node.name)
        )
        record_states(self.store, self._steps.setdefault(scope, []), base, key, operator_name(node.target), arguments)

    def check_iteration_limit(self, iterations: int) -> None:
        """Raises IterationLimitReached: a loop that goes on reached the limit."""
        if self.max_iterations is not None and iterations >= self.max_iterations:
            raise IterationLimitReached

    def record_trips(self, loop: str, key: Key, iterations: int) -> None:
        """Record the number of iterations of a loop that ended."""
        self.trips.setdefault(loop, {})[key] = iterations


class RecordingInterpreter(torch.fx.Interpreter):  # type: ignore[misc]
    """One graph of a program, run in the iterations ``iteration_key`` of the outer loops."""

    def __init__(self, recording: ProgramRecording, module: Any, path: GraphPath = (), loop: str = "") -> None:
        super().__init__(module)
        self.extra_traceback = False
        self.recording = recording
        self.path = path
        self.loop = loop
        self.iteration_key: Key = ()

    def run_in_iteration(self, key: Key, arguments: Sequence[Any]) -> Any:
        """Run the graph in one iteration."""
        self.iteration_key = key
        return self.run(*arguments)

    def run_node(self, n: Any) -> Any:
        """Run a node and record its result."""
        arguments, keywords = self.fetch_args_kwargs_from_env(n)
        run = _CONTROL_HANDLERS.get(control_operator_name(n))
        try:
            if run is not None:
                result = run(self, n, *arguments, **keywords)
            else:
                result = getattr(self, n.op)(n.target, arguments, keywords)
        except (LoopdbgError, IterationLimitReached):
            raise
        except Exception as error:
            raise ExecutionError(self._failure_text(n, error)) from None
        self.recording.record_value(self.path, n, self.iteration_key, result)
        if n.op == "call_function" and operator_name(n.target) in RECURRENT_OPERATORS:
            self.recording.record_states(self.path, n, self.iteration_key, self.loop, arguments)
        return result

    def _failure_text(self, node: Any, error: Exception) -> str:
        iteration = (
            f", iteration {', '.join(map(str, self.iteration_key))} of '{self.loop}'" if self.iteration_key else ""
        )
        location = source_location(node)
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        return f"the PyTorch program failed at '{node.name}'{f' ({location})' if location else ''}{iteration}: {text}"

    def _make_inner_interpreter(
        self, node: Any, module: Any, label: str, loop: str | None = None
    ) -> RecordingInterpreter:
        path = (*self.path, node.name, label)
        return RecordingInterpreter(self.recording, module, path, self.loop if loop is None else loop)

    def run_while(self, node: Any, cond: Any, body: Any, carried: Any, extra: Any, **_: Any) -> tuple[Any, ...]:
        """Semantics of :func:`torch.ops.higher_order.while_loop` without compilation."""
        loop = loop_path(self.loop, node.name)
        values, count = tuple(carried), 0
        condition = self._make_inner_interpreter(node, cond, "start").run_in_iteration(
            self.iteration_key, (*values, *extra)
        )
        step, test = (
            self._make_inner_interpreter(node, body, "body", loop),
            self._make_inner_interpreter(node, cond, "cond", loop),
        )
        while condition:
            self.recording.check_iteration_limit(count)
            key = (*self.iteration_key, count)
            step.record_body_parameters(key, values)
            values = tuple(step.run_in_iteration(key, (*values, *extra)))
            condition = test.run_in_iteration(key, (*values, *extra))
            count += 1
        self.recording.record_trips(loop, self.iteration_key, count)
        return values if count else tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in values)

    def run_scan(self, node: Any, combine: Any, init: Any, xs: Any, extra: Any = ()) -> tuple[Any, ...]:
        """Semantics of :func:`torch.ops.higher_order.scan` without compilation: along the first axis."""
        loop = loop_path(self.loop, node.name)
        length = int(xs[0].shape[0]) if xs else 0
        if not length:
            return tuple(node.target(combine, init, xs, extra))
        step = self._make_inner_interpreter(node, combine, "body", loop)
        carry, rows = tuple(init), []
        for k in range(length):
            self.recording.check_iteration_limit(k)
            key = (*self.iteration_key, k)
            step.record_body_parameters(key, carry)
            results = tuple(step.run_in_iteration(key, (*carry, *(x.select(0, k) for x in xs), *extra)))
            carry = results[: len(init)]
            rows.append([row.clone() if isinstance(row, torch.Tensor) else row for row in results[len(init) :]])
        self.recording.record_trips(loop, self.iteration_key, length)
        return (*carry, *(_stack_rows(column) for column in zip(*rows, strict=True)))

    def run_map(self, node: Any, body: Any, xs: Any, extra: Any = ()) -> Any:
        """Semantics of :func:`torch.ops.higher_order.map_impl` without compilation: a scan without carried values."""
        if not xs[0].shape[0]:
            return node.target(body, xs, extra)
        return self.run_scan(node, body, (), xs, extra)

    def record_body_parameters(self, key: Key, values: Sequence[Any]) -> None:
        """Record the parameters of an iteration of this body."""
        for parameter, value in zip(self.module.graph.find_nodes(op="placeholder"), values, strict=False):
            self.recording.record_value(self.path, parameter, key, value)

    def run_cond(self, node: Any, condition: Any, when_true: Any, when_false: Any, operands: Any = ()) -> Any:
        label, branch = ("true", when_true) if condition else ("false", when_false)
        return self._make_inner_interpreter(node, branch, label).run_in_iteration(self.iteration_key, tuple(operands))

    def run_block(self, node: Any, _: bool, block: Any, *operands: Any) -> Any:
        """Run the block: gradient mode changes no value."""
        return self._make_inner_interpreter(node, block, "block").run_in_iteration(self.iteration_key, operands)


def _stack_rows(column: Sequence[Any]) -> Any:
    return torch.stack(list(column)) if isinstance(column[0], torch.Tensor) else None


_CONTROL_HANDLERS: dict[str, Callable[..., Any]] = {
    "while_loop": RecordingInterpreter.run_while,
    "scan": RecordingInterpreter.run_scan,
    "map_impl": RecordingInterpreter.run_map,
    "cond": RecordingInterpreter.run_cond,
    "wrap_with_set_grad_enabled": RecordingInterpreter.run_block,
}
assert set(_CONTROL_HANDLERS) == set(CONTROL_OPERATORS)
