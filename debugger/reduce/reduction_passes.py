"""Reduction passes: iterations, outputs, nodes, inner graphs. Each returns whether it made a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...runtime.model import Data
from .documents.document import Document, DocumentNode, GraphPath, NewInputs, ReductionCandidate
from .reduction_session import ReductionSession

LOOP_OPERATORS = ("Loop", "Scan", "TensorIterator")


def remove_metadata(run: ReductionSession) -> bool:
    """Remove parts that compute nothing."""
    old_key = run.main_document.content_key()
    for k in range(len(run.main_document.cleanup_edits())):

        def edit(document: Document, k: int = k) -> bool:
            document.cleanup_edits()[k]()
            return True

        run.attempt_edit(edit)
    return old_key != run.main_document.content_key()


# -- outputs


def keep_one_output(run: ReductionSession) -> bool:
    """Keep only the output with the finding, then only one of the values before it."""
    changed = False
    if len(run.main_document.outputs) > 1:
        names = [run.observation.output] if run.observation.output else run.main_document.outputs
        changed = any(run.attempt_edit(_set_outputs_edit({name: None})) for name in names)
    return _bisect_first_node(run) or changed


def _bisect_first_node(run: ReductionSession) -> bool:
    """Find the first node, in order, whose result shows the finding: by bisection, as later nodes show it too."""
    steps = run.main_document.nodes()
    values = run.values()
    if len(steps) < 2 or run.observation.kind == "stop":
        return False
    low, high = 0, len(steps) - 1
    changed = False
    while low < high:
        middle = (low + high) // 2
        if run.attempt_edit(_set_outputs_edit({name: values.get(name) for name in steps[middle].outputs})):
            changed, high = True, middle
        else:
            low = middle + 1
    return changed


def _set_outputs_edit(values: Mapping[str, Data | None]) -> Callable[[Document], bool]:
    def edit(document: Document) -> bool:
        names = {name for node in document.nodes() for name in node.outputs} | set(document.outputs)
        if not values or not names.issuperset(values):
            return False
        document.set_outputs(values)
        return True

    return edit


# -- nodes of the main graph


def remove_nodes(run: ReductionSession) -> bool:
    """Replace results of nodes by inputs: all but one node at once, halves, and so on to single nodes."""
    values = run.shared_values()

    def try_without(keys: Sequence[str]) -> bool:
        steps = [node for node in run.main_document.nodes() if node.key in keys]
        frozen = {name: values[name] for node in steps for name in node.outputs if name in values}
        return bool(frozen) and run.attempt_edit(lambda document: _replace_by_inputs(document, frozen))

    return _delta_debug(lambda: [node.key for node in run.main_document.nodes()], try_without)


def _replace_by_inputs(document: Document, values: Mapping[str, Data]) -> Mapping[str, Data] | None:
    names = {name for node in document.nodes() for name in node.outputs}
    if not names.issuperset(values):
        return None
    document.replace_by_inputs(values)
    return values


def _delta_debug(
    members: Callable[[], list[str]], try_without: Callable[[Sequence[str]], bool], whole: bool = False
) -> bool:
    """Delta debugging: remove pieces of decreasing size while that succeeds; ``whole``: begin with all, else with all
    but one."""
    changed = False
    size = len(members()) if whole else max(len(members()) - 1, 1)
    while size:
        remaining, start = members(), 0
        while start < len(remaining):
            piece = remaining[start : start + size]
            if set(piece) <= set(members()) and try_without(piece):
                changed = True
            start += size
        size //= 2
    return changed


def inline_branches(run: ReductionSession) -> bool:
    """Replace Ifs by their taken branches."""
    values = run.values()

    def inline(key: str) -> bool:
        return run.attempt_edit(lambda document: document.inline_branch(key, values))

    results = [inline(node.key) for node in run.main_document.inlinable_if_nodes()]
    return any(results)


# -- iterations


def reduce_iterations(run: ReductionSession) -> bool:
    """Reduce each loop of the main graph to one iteration of its body, else to the fewest iterations with the latest
    start."""
    changed = False
    for node in run.main_document.loops():
        if all(other.key != node.key for other in run.main_document.loops()):
            continue
        changed |= _reduce_trip_count(run, node)
        if _try_single_iteration(run, node):
            return True
        changed |= _skip_iterations(run, node)
    return changed


def _reduce_trip_count(run: ReductionSession, node: DocumentNode, path: GraphPath = ()) -> bool:
    """Keep only the first iterations."""
    values = {} if path else run.values()
    max_count = run.limit if path else run.trip_count(node)

    def try_trip_count(count: int) -> bool:
        # If two models run different numbers of iterations, one may be short enough already.
        return run.attempt_edit(lambda document: document.limit_iterations(node.key, path, count, values), every=False)

    low, high = 0, 1
    while max_count is None or high < max_count:
        if try_trip_count(high):
            break
        low, high = high, high * 2
    else:
        return False
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if try_trip_count(middle) else (middle, high)
    return True


def _try_single_iteration(run: ReductionSession, node: DocumentNode) -> bool:
    """Replace the model by one iteration of the body: the last one, or the first."""
    values, trips = run.values(), run.trip_count(node)
    return any(
        run.attempt(single_iteration_candidate(run, node.key, k, values)) for k in dict.fromkeys((max(trips - 1, 0), 0))
    )


def single_iteration_candidate(
    run: ReductionSession, key: str, k: int, values: Mapping[str, Data]
) -> ReductionCandidate | None:
    """Return one iteration of the body of a loop."""
    return _apply_edit_with_state(
        run, key, k, values, lambda document, state: document.replace_by_iteration(key, k, state, values)
    )


def _apply_edit_with_state(
    run: ReductionSession,
    key: str,
    k: int,
    values: Mapping[str, Data],
    edit: Callable[[Document, Sequence[Data]], NewInputs],
) -> ReductionCandidate | None:
    """Return the best candidate with an edit that needs the carried values of a loop at an iteration."""
    state = run.carried_state(key, k, values)
    if state is None:
        return None

    def edit_document(document: Document) -> NewInputs:
        # Of two documents, one may carry more values.
        return edit(document, state) if len(document.initial_value_names(key)) == len(state) else None

    return run.apply_edit(edit_document)


def _skip_iterations(run: ReductionSession, node: DocumentNode) -> bool:
    """Keep only the last iterations."""
    values, trips, count = run.values(), run.trip_count(node), 1
    while count < trips:
        start = trips - count
        if run.attempt(_start_at_iteration(run, node.key, start, values)):
            return True
        count *= 2
    return False


def _start_at_iteration(
    run: ReductionSession, key: str, k: int, values: Mapping[str, Data]
) -> ReductionCandidate | None:
    """Let a loop start with a later iteration."""
    return _apply_edit_with_state(
        run, key, k, values, lambda document, state: document.start_at_iteration(key, k, state, values)
    )


# -- inside of loops that cannot be removed


def remove_unread_results(run: ReductionSession) -> bool:
    """Remove carried values and scan outputs without readers."""

    def try_without(chosen: Sequence[str]) -> bool:
        by_loop: dict[str, tuple[DocumentNode, list[int]]] = {}
        for node, k in run.main_document.unread_results():
            if f"{_node_id(node)} {k}" in chosen:
                by_loop.setdefault(_node_id(node), (node, []))[1].append(k)

        def edit(document: Document) -> bool:
            # Inner loops first: an edit may change the key of an outer loop.
            results = [document.drop_results(node, k) for node, k in reversed(by_loop.values())]
            return any(results)

        return run.attempt_edit(edit)

    return _delta_debug(
        lambda: [f"{_node_id(node)} {k}" for node, k in run.main_document.unread_results()], try_without, whole=True
    )


def reduce_inner_graphs(run: ReductionSession) -> bool:
    """Reduce bodies and branches."""
    changed = _remove_carried_values(run)
    changed |= _replace_inner_by_constants(run)
    changed |= _bypass_inner_nodes(run)
    changed |= remove_unread_results(run)
    for node in run.main_document.inner_nodes():
        if node.op_type in LOOP_OPERATORS and any(other == node for other in run.main_document.inner_nodes()):
            changed |= _reduce_trip_count(run, node, node.graph_path)
    return changed


def _remove_carried_values(run: ReductionSession) -> bool:

    def try_without(node: DocumentNode, index: int) -> bool:
        return run.attempt_edit(lambda document: document.remove_carried(node, index))

    results = [try_without(node, index) for node, index in reversed(run.main_document.carried_values())]
    return any(results)


def _replace_inner_by_constants(run: ReductionSession) -> bool:
    """Replace nodes by constants with their values in iteration 0 of the enclosing loops."""
    values = {_node_id(node): (node, value) for node, value in _first_inner_values(run)}

    def members() -> list[str]:
        ids = {_node_id(node) for node in run.main_document.inner_nodes() if node.op_type not in ("Constant", "Const")}
        return [id_ for id_ in values if id_ in ids]

    def try_without(chosen: Sequence[str]) -> bool:
        def edit(document: Document) -> bool:
            results = [document.replace_by_constant(*values[id_]) for id_ in chosen]
            return any(results)

        return run.attempt_edit(edit)

    return _delta_debug(members, try_without, whole=True)


def _node_id(node: DocumentNode) -> str:
    return repr((node.graph_path, node.key))


def _first_inner_values(run: ReductionSession) -> Iterator[tuple[DocumentNode, Data]]:
    """The first values of nodes of bodies."""
    sessions: dict[GraphPath, ReductionSession] = {(): run}
    for node in run.main_document.inner_nodes():
        home = sessions.get(node.graph_path) or _body_session(sessions, node.graph_path)
        if home is None:
            continue
        sessions[node.graph_path] = home
        values = home.values()
        if node.outputs and node.outputs[0] in values:
            yield node, values[node.outputs[0]]


def _body_session(sessions: dict[GraphPath, ReductionSession], path: GraphPath) -> ReductionSession | None:
    """A session for a body in iteration 0, with the initial values of the loop."""
    outer = sessions.get(path[:-1])
    if outer is None or path[-1][1] != "body":
        return None
    values = outer.values()
    try:
        candidate = single_iteration_candidate(outer, path[-1][0], 0, values)
    except (KeyError, StopIteration):
        return None
    if candidate is None:
        return None
    return ReductionSession(
        outer.predicate,
        ReductionCandidate(candidate.documents[:1], candidate.inputs),
        outer.observation,
        limit=outer.limit,
    )


def _bypass_inner_nodes(run: ReductionSession) -> bool:
    """Replace results of nodes of bodies by one of their inputs."""

    def try_without(node: DocumentNode, source: str) -> bool:
        return run.attempt_edit(lambda document: document.bypass_node(node, source))

    hits = [
        any(try_without(node, source) for source in node.inputs) for node in reversed(run.main_document.inner_nodes())
    ]
    return any(hits)
