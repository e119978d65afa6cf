"""Runs an exported program node by node, through the bodies of its loops, and keeps what each node computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...runtime.errors import ExecutionError, LoopdbgError
from .program import ProgramTrack
from .reference import Key
from .torch_cells import STEPPED, keep_steps
from .torch_folding import Folded, folded
from .torch_inside import Ran
from .torch_sites import CONTROL, Path, carried_by, control, is_written, loop_path, operator_name, sites, source
from .torch_threads import threads_for
from .torch_values import Store, as_array, outside_of_vmap


class Limited(Exception):
    """A loop ran as many iterations as were asked for, and would go on."""


class Recording:
    """What one run of a program computed.

    ``trips``: loop -> iterations of the loops around it -> how often it ran, of the loops that came to an end.
    """

    def __init__(self, module: Any, store: Store, most: int | None = None) -> None:
        self.module = module
        self.store = store
        self.most = most
        self.trips: dict[str, dict[Key, int]] = {}
        self._sites = list(sites(module))
        self._tracks = {(path, node.name): track for path, node, track in self._sites}
        self._steps: dict[str, list[ProgramTrack]] = {}

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """Run the program; its results, or None where the limit of iterations ended it.

        Raises:
            ExecutionError: a node of the program failed.
            LimitError: the values take too much memory.
        """
        try:
            with threads_for(self.module), outside_of_vmap():
                return tuple(Walk(self, self.module).run(*arguments))
        except Limited:
            return None

    @property
    def tracks(self) -> list[ProgramTrack]:
        """All values that there were, in the order of the program; those of the steps of a recurrent layer stand
        before its results."""
        found: list[ProgramTrack] = []
        for (path, _), track in self._tracks.items():
            if track.output is None:
                found += self._steps.get("/".join((*path, track.node)), [])
            found += [track] if track.values else []
        return found

    def folded(self, arguments: Sequence[Any]) -> Folded:
        """The loops of Python that the program is unrolled from. ``arguments``: what it was run with."""
        inputs = self.module.graph.find_nodes(op="placeholder")
        given = {node.name: value for node, value in zip(inputs, arguments, strict=False) if not is_written(node)}

        def known(name: str) -> Mapping[Key, Any]:
            array = as_array(given.get(name))
            return {} if array is None else {(): array}

        ran = Ran(self.tracks, self.trips, carried_by(self.module))
        return folded(self._sites, ran, known)

    def keep(self, path: Path, node: Any, at: Key, value: Any) -> None:
        """What a node computed in an iteration."""
        track = self._tracks.get((path, node.name))
        if track is not None:
            self.store.put(track.values, at, value, f"{at} of '{track.name}'")

    def keep_steps(self, path: Path, node: Any, at: Key, loop: str, arguments: Sequence[Any]) -> None:
        """The states of a recurrent layer that is one node, step by step."""
        place = "/".join((*path, node.name))
        base = ProgramTrack(
            place, {}, loop, operator_name(node.target), node.name, source(node), graph=(*path, node.name)
        )
        keep_steps(self.store, self._steps.setdefault(place, []), base, at, operator_name(node.target), arguments)

    def went_on(self, iterations: int) -> None:
        """Raises: Limited: a loop that goes on ran as often as was asked for."""
        if self.most is not None and iterations >= self.most:
            raise Limited

    def ended(self, loop: str, at: Key, iterations: int) -> None:
        """A loop came to its end."""
        self.trips.setdefault(loop, {})[at] = iterations


class Walk(torch.fx.Interpreter):  # type: ignore[misc]
    """One graph of a program, run in the iterations ``at`` of the loops around it."""

    def __init__(self, recording: Recording, module: Any, path: Path = (), loop: str = "") -> None:
        super().__init__(module)
        self.extra_traceback = False
        self.recording = recording
        self.path = path
        self.loop = loop
        self.at: Key = ()

    def run_at(self, at: Key, arguments: Sequence[Any]) -> Any:
        """Run the graph in one iteration."""
        self.at = at
        return self.run(*arguments)

    def run_node(self, n: Any) -> Any:
        """Run a node and keep its result."""
        arguments, keywords = self.fetch_args_kwargs_from_env(n)
        run = _CONTROL.get(control(n))
        try:
            if run is not None:
                result = run(self, n, *arguments, **keywords)
            else:
                result = getattr(self, n.op)(n.target, arguments, keywords)
        except (LoopdbgError, Limited):
            raise
        except Exception as error:
            raise ExecutionError(self._failed(n, error)) from None
        self.recording.keep(self.path, n, self.at, result)
        if n.op == "call_function" and operator_name(n.target) in STEPPED:
            self.recording.keep_steps(self.path, n, self.at, self.loop, arguments)
        return result

    def _failed(self, node: Any, error: Exception) -> str:
        iteration = f", iteration {', '.join(map(str, self.at))} of '{self.loop}'" if self.at else ""
        place = source(node)
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        return f"the PyTorch program failed at '{node.name}'{f' ({place})' if place else ''}{iteration}: {text}"

    def _inner(self, node: Any, module: Any, label: str, loop: str | None = None) -> Walk:
        path = (*self.path, node.name, label)
        return Walk(self.recording, module, path, self.loop if loop is None else loop)

    def _while(self, node: Any, cond: Any, body: Any, carried: Any, extra: Any, **_: Any) -> tuple[Any, ...]:
        """As :func:`torch.ops.higher_order.while_loop` runs without compilation."""
        loop = loop_path(self.loop, node.name)
        values, count = tuple(carried), 0
        goes_on = self._inner(node, cond, "start").run_at(self.at, (*values, *extra))
        step, test = self._inner(node, body, "body", loop), self._inner(node, cond, "cond", loop)
        while goes_on:
            self.recording.went_on(count)
            at = (*self.at, count)
            step.receive(at, values)
            values = tuple(step.run_at(at, (*values, *extra)))
            goes_on = test.run_at(at, (*values, *extra))
            count += 1
        self.recording.ended(loop, self.at, count)
        return values if count else tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in values)

    def _scan(self, node: Any, combine: Any, init: Any, xs: Any, extra: Any = ()) -> tuple[Any, ...]:
        """As :func:`torch.ops.higher_order.scan` runs without compilation: along the first axis."""
        loop = loop_path(self.loop, node.name)
        length = int(xs[0].shape[0]) if xs else 0
        if not length:
            return tuple(node.target(combine, init, xs, extra))
        step = self._inner(node, combine, "body", loop)
        carry, rows = tuple(init), []
        for k in range(length):
            self.recording.went_on(k)
            at = (*self.at, k)
            step.receive(at, carry)
            results = tuple(step.run_at(at, (*carry, *(x.select(0, k) for x in xs), *extra)))
            carry = results[: len(init)]
            rows.append([row.clone() if isinstance(row, torch.Tensor) else row for row in results[len(init) :]])
        self.recording.ended(loop, self.at, length)
        return (*carry, *(_stacked(column) for column in zip(*rows, strict=True)))

    def _map(self, node: Any, body: Any, xs: Any, extra: Any = ()) -> Any:
        """As :func:`torch.ops.higher_order.map_impl` runs without compilation: a scan that carries nothing."""
        if not xs[0].shape[0]:
            return node.target(body, xs, extra)
        return self._scan(node, body, (), xs, extra)

    def receive(self, at: Key, values: Sequence[Any]) -> None:
        """Keep what an iteration of this body was given."""
        for parameter, value in zip(self.module.graph.find_nodes(op="placeholder"), values, strict=False):
            self.recording.keep(self.path, parameter, at, value)

    def _cond(self, node: Any, chosen: Any, when_true: Any, when_false: Any, operands: Any = ()) -> Any:
        label, branch = ("true", when_true) if chosen else ("false", when_false)
        return self._inner(node, branch, label).run_at(self.at, tuple(operands))

    def _block(self, node: Any, _: bool, block: Any, *operands: Any) -> Any:
        """Whether gradients are computed changes no value."""
        return self._inner(node, block, "block").run_at(self.at, operands)


def _stacked(column: Sequence[Any]) -> Any:
    return torch.stack(list(column)) if isinstance(column[0], torch.Tensor) else None


_CONTROL: dict[str, Callable[..., Any]] = {
    "while_loop": Walk._while,
    "scan": Walk._scan,
    "map_impl": Walk._map,
    "cond": Walk._cond,
    "wrap_with_set_grad_enabled": Walk._block,
}
assert set(_CONTROL) == set(CONTROL)
