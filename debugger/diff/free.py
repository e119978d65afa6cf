"""A model against a live peer, free-running: each runs the whole model, so that errors add up as they do in use.

The outputs are those of the model as it stands. What its loops carry comes from a second run, of the model with the
carried values of its outermost loops as further outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...runtime.errors import UnsupportedError, one_line
from ...runtime.graph import Graph, Loop, StoppedBy, System, TensorType, Value, bodies, captured, results_of_file
from ...runtime.model import Data
from ..peers.process import Loaded, Peer, PeerError
from ..session.boundary import Boundary
from .before import follow_back
from .findings import Comparison, Difference, Failure, Reason, Verdict
from .outputs import report_not_computed
from .profile import LoopProfile, Profile, cannot_be_handed_over, is_double
from .quantisation import Steps
from .rules import fitting
from .sides import LoopInfo, ModelSide
from .streams import Options, compare_sides
from .values import compare
from .whole import following, made_by_operations, run_whole, whole_model

#: Trajectories together take no more than this.
MOST_BYTES = 256 << 20


def run_free(side: ModelSide, inputs: Mapping[str, Data], peer: Peer, options: Options, profile: Profile) -> Comparison:
    """Run the model there and compare; ``profile`` is of a run of ours that came to its end."""
    result = Comparison("free", side.label, peer.name)
    outputs = side.outputs
    if outputs is None:
        result.note("free-running: not compared, since ours was ended by the limit of iterations")
        return result
    if peer.name == "openvino" and profile.wide is not None:
        name, where = profile.wide
        result.note(
            f"free-running: not compared, since '{name}' does not fit 32 bits at {where}, to "
            "which openvino narrows it (B29)"
        )
        return result
    for name, value in inputs.items():
        kind = cannot_be_handed_over(value, peer.name)
        if kind:
            result.note(
                f"free-running: not compared, since the input '{name}' is {kind}, which {peer.name} cannot be given"
            )
            return result
    if peer.name == "openvino":
        doubles = [name for name, value in inputs.items() if is_double(value)]
        doubles += [v.name for p in profile.loops.values() for v, t in p.types.items() if t and t.dtype == np.float64]
        for name in doubles[:1]:
            result.note(f"'{name}' is float64, which openvino computes as float32 (B29): compared as float32")
        options = replace(options, tolerance=replace(options.tolerance, single=True))
    reasons = [reason for path in profile.loops for reason in side.reasons(path)]
    reasons += [reason for seen in profile.loops.values() for reason in _empty(seen)]
    reasons += _conversion(side.model.graph, ())
    feeds = _feeds(side, inputs)
    loaded = None
    try:
        job = whole_model(side)
    except UnsupportedError as error:
        result.note(f"free-running: not compared, since {error}")
        return result
    given: list[Any] = []
    try:
        if outputs:  # where all outputs are of unsupported types there is nothing to ask for
            loaded = peer.open(job)
            given = run_whole(loaded, feeds, side.model)
            result.unstable = _unstable(side, loaded, feeds, given, options)
            loaded.close()
    except PeerError as error:
        what = "refused" if error.what == "failed" and loaded is None else error.what
        why = fitting(reasons, "failure", peer.name)
        result.failures.append(Failure(what, "the whole model", error.text, tuple(why)))
        return result
    if options.loops:
        given = []
    compared = _trajectories(side, feeds, peer, options, profile, result)
    if compared is not None:
        result.loops = compared.loops
        for loop in result.loops:
            loop.only_left.clear()  # not followed
            if loop.trips is not None:
                # What the peer said to itself is not known.
                loop.trips.right_ended = None
                loop.trips.reasons = _seen(profile.loops[loop.left], loop.trips.right, peer.name) or loop.trips.reasons
    effects = ("values", "trips") if any(loop.trips for loop in result.loops) or compared is None else ("values",)
    _outputs(result, side, outputs, given, options)
    report_not_computed(result, side.graph, side.label)
    if not result.same:
        result.reasons = list(dict.fromkeys(r for effect in effects for r in fitting(reasons, effect, peer.name)))
        result.reasons += [
            r for loop in result.loops if loop.trips for r in loop.trips.reasons if r not in result.reasons
        ]
    if result.verdict is Verdict.DIFFER and not side.model._inside.requests:
        follow_back(result, side, feeds, peer, options, {path: seen.loop for path, seen in profile.loops.items()})
    return result


def whole_outcome(side: ModelSide, inputs: Mapping[str, Data], peer: Peer) -> str:
    """What a peer makes of the whole model, where ours fails: ``onnxruntime fails too: ...``."""
    for name, value in inputs.items():
        kind = cannot_be_handed_over(value, peer.name)
        if kind:
            return f"{peer.name} was not run, since the input '{name}' is {kind}"
    try:
        loaded = peer.open(whole_model(side))
    except UnsupportedError as error:
        return f"{peer.name} was not run, since {error}"
    except PeerError as error:
        return f"{peer.name} {'refuses the model' if error.what == 'failed' else error.what}: {error.text}"
    try:
        run_whole(loaded, _feeds(side, inputs), side.model)
        loaded.close()
    except PeerError as error:
        return f"{peer.name} {'fails too' if error.what == 'failed' else error.what}: {error.text}"
    return f"{peer.name} runs the model with these inputs"


def _feeds(side: ModelSide, inputs: Mapping[str, Data]) -> dict[str, Any]:
    """Inputs as a peer takes them: those of an IR by position."""
    feeds = {name: _array(value) for name, value in inputs.items()}
    if side.model.graph.system is System.OPENVINO:
        return {str(k): feeds[port.name] for k, port in enumerate(side.model.inputs)}
    return feeds


def _unstable(
    side: ModelSide, loaded: Loaded, feeds: Mapping[str, Any], given: Sequence[Any], options: Options
) -> Difference | None:
    """The first output that differs from ours, and in which the peer differs from itself when it runs again. With
    variables a run goes on from the one before."""
    outputs = side.outputs
    if side.model.graph.variables or outputs is None:
        return None
    names = [port.name for port in side.model.outputs]
    pairs = zip(names, given, strict=False)
    differing = [name for name, theirs in pairs if compare(outputs[name], theirs, options.tolerance).kind]
    if not differing:
        return None
    once, again = (dict(zip(names, run, strict=False)) for run in (given, run_whole(loaded, feeds, side.model)))
    for name in differing:
        delta = compare(once[name], again[name], options.tolerance)
        if delta.kind:
            return Difference("output", name, name, delta, left=once[name], right=again[name])
    return None


def _outputs(
    result: Comparison, side: ModelSide, ours: Mapping[str, Data], given: Sequence[Any], options: Options
) -> None:
    steps = Steps(side.graph)
    for port, theirs in zip(side.model.outputs, given, strict=False):
        mine = ours[port.name]
        delta = compare(mine, theirs, options.tolerance)
        result.compared_outputs += 1
        if delta.kind:
            step = steps.of_output(port.name, mine)
            result.outputs.append(Difference("output", port.name, port.name, delta, left=mine, right=theirs, step=step))


def _seen(profile: LoopProfile, trips: int, peer: str) -> list[Reason]:
    """The rule that the numbers themselves point to."""
    ignored = profile.loop.ignored_condition
    if ignored is None or profile.first_false is None or profile.first_false + 1 != trips:
        return []
    text = (
        f"the body's condition '{ignored.name}' is false in iteration {profile.first_false}, and {peer} stops there "
        "although the loop's cond is absent."
    )
    return [Reason("B1", text)]


def _empty(profile: LoopProfile) -> list[Reason]:
    """Rules about loops that ran no iteration."""
    loop = profile.loop
    if profile.trips:
        return []
    if loop.system is System.ONNX and loop.counted_by_slices and not loop.made_of:
        return [Reason("B19", "onnxruntime refuses a Scan over nothing, and openvino returns uninitialised memory.")]
    return []


def _conversion(graph: Graph, around: tuple[str, ...]) -> Iterator[Reason]:
    """Rules about what OpenVINO cannot convert of an ONNX model."""
    if graph.system is not System.ONNX:
        return
    for node in graph.nodes:
        names: tuple[str, ...] = ()
        if isinstance(node, Loop) and node not in graph.opened:
            names = tuple(value.name for value in node.body.inputs)
            again = next((name for name in names if name in around), None)
            if again is not None:
                yield Reason(
                    "B28", f"openvino cannot convert loops inside each other that both call an input '{again}'."
                )
            handed = next((value.name for value in node.body.outputs if value in node.body.inputs), None)
            if handed is not None:
                yield Reason(
                    "B8", f"openvino cannot read a file with a body that hands on its input '{handed}' directly."
                )
            free = (value.name for value in captured(node.body) if value.constant is None)
            outer = next(free, None) if node.counted_by_slices else None
            if outer is not None:
                yield Reason("B21", f"openvino cannot convert a Scan whose body uses an outer value, '{outer}'.")
        for _, inner in bodies(node):
            yield from _conversion(inner, (*around, *names))


def _array(value: Any) -> Any:
    return [np.asarray(item) for item in value] if isinstance(value, list | tuple) else np.asarray(value)


# -- what the loops carry


class PeerSide:
    """What a peer's loops carried, as boundaries."""

    def __init__(
        self, label: str, loops: Sequence[tuple[Loop, str]], rows: Mapping[Loop, Sequence[tuple[list[str], Any]]]
    ):
        self.label = label
        self.loops = [LoopInfo(path, loop.name) for loop, path in loops]
        self.graph: Graph | None = None
        self.outputs: Mapping[str, Data] | None = None
        self._paths = loops
        self._rows = rows

    def boundaries(self) -> Iterator[Boundary]:
        """The values of iteration 0 are not known, and nothing of any body."""
        for loop, path in self._paths:
            followed = self._rows[loop]
            count = min(len(rows) for _, rows in followed)
            for k in range(count + 1):
                carried = {name: rows[k - 1] for names, rows in followed for name in names} if k else {}
                yield Boundary(path, (), k, None, StoppedBy.CONDITION if k == count else None, carried)

    def moment(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> None:
        """Nothing is known of what happens inside."""

    def reasons(self, loop: str) -> list[Reason]:
        """None of its own."""
        return []


def _trajectories(
    side: ModelSide, feeds: Mapping[str, Any], peer: Peer, options: Options, profile: Profile, result: Comparison
) -> Comparison | None:
    """Compare what the outermost loops carry; None where that cannot be had."""
    wanted = _wanted(side, profile, options)
    if not wanted:
        return None
    try:
        given = run_whole(peer.open(following(side, wanted)), feeds, side.model)
    except (PeerError, UnsupportedError) as error:
        result.note(f"what the loops carry could not be had from {peer.name}: {one_line(error)}")
        return None
    arrays = given[len(given) - sum(len(values) for values in wanted.values()) :]
    rows: dict[Loop, list[tuple[list[str], Any]]] = {}
    for loop, values in wanted.items():
        rows[loop] = []
        for value, _ in values:
            names = [edge.param.name for edge in loop.back_edges if edge.result is value]
            rows[loop].append((names, arrays.pop(0)))
    paths = [(profile.loops[path].loop, path) for path in profile.loops if profile.loops[path].loop in rows]
    theirs = PeerSide(peer.name, paths, rows)
    ours = _Outermost(side, [path for _, path in paths])
    return compare_sides(ours, theirs, Options(options.tolerance), "free", peer.name)


class _Outermost:
    """Our side, reduced to the loops that are followed, and to what they carry."""

    def __init__(self, side: ModelSide, paths: Sequence[str]) -> None:
        self.label = side.label
        self.loops = [LoopInfo(loop.path, loop.name) for loop in side.loops if loop.path in paths]
        self.graph: Graph | None = None
        self.outputs: Mapping[str, Data] | None = None
        self._side = side

    def boundaries(self) -> Iterator[Boundary]:
        """Run the model."""
        paths = {loop.path for loop in self.loops}
        for boundary in self._side.boundaries():
            if boundary.loop in paths:
                yield replace(
                    boundary, condition=None, scanned={}, carried=boundary.carried if boundary.iteration else {}
                )

    def moment(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> None:
        """Nobody asks: of the other side nothing is known."""

    def reasons(self, loop: str) -> list[Reason]:
        """Those of the model."""
        return self._side.reasons(loop)


def _wanted(side: ModelSide, profile: Profile, options: Options) -> dict[Loop, list[tuple[Value, TensorType]]]:
    """The values to follow: of loops of the main graph, what keeps its type and fits the memory."""
    found: dict[Loop, list[tuple[Value, TensorType]]] = {}
    room = MOST_BYTES
    for node in side.model.graph.nodes:
        if not isinstance(node, Loop) or node in side.model.graph.opened:
            continue
        seen = next((p for p in profile.loops.values() if p.loop is node), None)
        if seen is None or (options.loops and not {node.name, _path(profile, node)} & set(options.loops)):
            continue
        known = made_by_operations(node.body) if side.model._inside.requests else results_of_file(node)
        values: list[tuple[Value, TensorType]] = []
        for value, kind in seen.types.items():
            if value not in known:
                continue
            if kind is not None and seen.nbytes[value] <= room and kind.dtype is not None and kind.dtype.kind != "V":
                room -= seen.nbytes[value]
                values.append((value, kind))
        counter = _counter(node)
        if not values and counter is not None:
            values.append(counter)
        if values:
            found[node] = values
    return found


def _path(profile: Profile, loop: Loop) -> str:
    return next(path for path, seen in profile.loops.items() if seen.loop is loop)


def _counter(loop: Loop) -> tuple[Value, TensorType] | None:
    """A small value that tells by its number of rows how often a loop ran."""
    if loop.system is System.ONNX and loop.iteration is not None:
        return loop.iteration, TensorType(np.dtype(np.int64), ())
    if loop.condition is not None:
        return loop.condition, TensorType(np.dtype(bool), ())
    return None
