"""Reduction passes: iterations, outputs, nodes, inner graphs. Each returns whether it made a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...runtime.model import Data
from .documents.document import Document, DocumentNode, GraphPath, ReductionCandidate
from .reduction_session import ReductionSession

LOOP_OPERATORS = ("Loop", "Scan", "TensorIterator")


def remove_metadata(session: ReductionSession) -> bool:
    """Remove parts that compute nothing."""
    old_key = session.main_document.content_key()
    for k in range(len(session.main_document.cleanups())):

        def edit(document: Document, k: int = k) -> bool:
            document.cleanups()[k]()
            return True

        session.attempt_edit(edit)
    return old_key != session.main_document.content_key()


# -- outputs


def keep_one_output(session: ReductionSession) -> bool:
    """Keep only the output with the finding, then only one of the values before it."""
    has_changed = False
    if len(session.main_document.outputs) > 1:
        names = [session.observation.output] if session.observation.output else session.main_document.outputs
        has_changed = any(session.attempt_edit(_set_outputs_edit({name: None})) for name in names)
    return _bisect_first_node(session) or has_changed


def _bisect_first_node(session: ReductionSession) -> bool:
    """Find the first node, in order, whose result shows the finding: by bisection, as later nodes show it too."""
    steps = session.main_document.nodes()
    values = session.values()
    if len(steps) < 2 or session.observation.kind == "stop":
        return False
    low, high = 0, len(steps) - 1
    has_changed = False
    while low < high:
        middle = (low + high) // 2
        if session.attempt_edit(_set_outputs_edit({name: values.get(name) for name in steps[middle].outputs})):
            has_changed, high = True, middle
        else:
            low = middle + 1
    return has_changed


def _set_outputs_edit(values: Mapping[str, Data | None]) -> Callable[[Document], bool]:
    def edit(document: Document) -> bool:
        names = {name for step in document.nodes() for name in step.outputs} | set(document.outputs)
        if not values or not names.issuperset(values):
            return False
        document.set_outputs(values)
        return True

    return edit


# -- nodes of the main graph


def remove_nodes(session: ReductionSession) -> bool:
    """Replace results of nodes by inputs: all but one node at once, halves, and so on to single nodes."""
    values = session.values()

    def without(keys: Sequence[str]) -> bool:
        steps = [step for step in session.main_document.nodes() if step.key in keys]
        frozen = {name: values[name] for step in steps for name in step.outputs if name in values}
        return bool(frozen) and session.attempt_edit(lambda document: _replace_by_inputs(document, frozen))

    return _delta_debug(lambda: [step.key for step in session.main_document.nodes()], without)


def _replace_by_inputs(document: Document, values: Mapping[str, Data]) -> Mapping[str, Data] | None:
    names = {name for step in document.nodes() for name in step.outputs}
    if not names.issuperset(values):
        return None
    document.replace_by_inputs(values)
    return values


def _delta_debug(
    members: Callable[[], list[str]], without: Callable[[Sequence[str]], bool], whole: bool = False
) -> bool:
    """Delta debugging: remove pieces of decreasing size while that succeeds; ``whole``: begin with all, else with all
    but one."""
    has_changed = False
    size = len(members()) if whole else max(len(members()) - 1, 1)
    while size:
        remaining, start = members(), 0
        while start < len(remaining):
            piece = remaining[start : start + size]
            if set(piece) <= set(members()) and without(piece):
                has_changed = True
            start += size
        size //= 2
    return has_changed


def inline_branches(session: ReductionSession) -> bool:
    """Replace Ifs by their taken branches."""
    values = session.values()

    def inline(key: str) -> bool:
        return session.attempt_edit(lambda document: document.inline_branch(key, values))

    results = [inline(step.key) for step in session.main_document.if_nodes()]
    return any(results)


# -- iterations


def reduce_iterations(session: ReductionSession) -> bool:
    """Reduce each loop of the main graph to one iteration of its body, else to the fewest iterations with the latest
    start."""
    has_changed = False
    for step in session.main_document.loops():
        if all(other.key != step.key for other in session.main_document.loops()):
            continue
        has_changed |= _reduce_trip_count(session, step)
        if _try_single_iteration(session, step):
            return True
        has_changed |= _skip_iterations(session, step)
    return has_changed


def _reduce_trip_count(session: ReductionSession, step: DocumentNode, path: GraphPath = ()) -> bool:
    """Keep only the first iterations."""
    values = {} if path else session.values()
    max_count = session.limit if path else session.trip_count(step)

    def shows(count: int) -> bool:
        # If two models run different numbers of iterations, one may be short enough already.
        return session.attempt_edit(
            lambda document: document.limit_iterations(step.key, path, count, values), every=False
        )

    low, high = 0, 1
    while max_count is None or high < max_count:
        if shows(high):
            break
        low, high = high, high * 2
    else:
        return False
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return True


def _try_single_iteration(session: ReductionSession, step: DocumentNode) -> bool:
    """Replace the model by one iteration of the body: the last one, or the first."""
    values, trips = session.values(), session.trip_count(step)
    return any(
        session.attempt(single_iteration(session, step.key, k, values)) for k in dict.fromkeys((max(trips - 1, 0), 0))
    )


def single_iteration(
    session: ReductionSession, key: str, index: int, values: Mapping[str, Data]
) -> ReductionCandidate | None:
    """Return one iteration of the body of a loop."""
    state = session.carried_state(key, index, values)
    if state is None:
        return None
    return session.apply_edit(lambda document: document.replace_by_iteration(key, index, state, values))


def _skip_iterations(session: ReductionSession, step: DocumentNode) -> bool:
    """Keep only the last iterations."""
    values, trips, count = session.values(), session.trip_count(step), 1
    while count < trips:
        start = trips - count
        if session.attempt(_start_at_iteration(session, step.key, start, values)):
            return True
        count *= 2
    return False


def _start_at_iteration(
    session: ReductionSession, key: str, index: int, values: Mapping[str, Data]
) -> ReductionCandidate | None:
    """Let a loop start with a later iteration."""
    state = session.carried_state(key, index, values)
    return (
        None
        if state is None
        else session.apply_edit(lambda document: document.start_at_iteration(key, index, state, values))
    )


# -- inside of loops that cannot be removed


def remove_unread_results(session: ReductionSession) -> bool:
    """Remove carried values and scan outputs without readers."""

    def without(chosen: Sequence[str]) -> bool:
        by_loop: dict[str, tuple[DocumentNode, list[int]]] = {}
        for step, k in session.main_document.unread_results():
            if f"{_node_id(step)} {k}" in chosen:
                by_loop.setdefault(_node_id(step), (step, []))[1].append(k)

        def edit(document: Document) -> bool:
            # Inner loops first: an edit may change the key of an outer loop.
            results = [document.drop_results(step, k) for step, k in reversed(by_loop.values())]
            return any(results)

        return session.attempt_edit(edit)

    return _delta_debug(
        lambda: [f"{_node_id(step)} {k}" for step, k in session.main_document.unread_results()], without, whole=True
    )


def reduce_inner_graphs(session: ReductionSession) -> bool:
    """Reduce bodies and branches."""
    has_changed = _remove_carried_values(session)
    has_changed |= _replace_inner_by_constants(session)
    has_changed |= _bypass_inner_nodes(session)
    has_changed |= remove_unread_results(session)
    for step in session.main_document.inner_nodes():
        if step.op_type in LOOP_OPERATORS and any(other == step for other in session.main_document.inner_nodes()):
            has_changed |= _reduce_trip_count(session, step, step.graph_path)
    return has_changed


def _remove_carried_values(session: ReductionSession) -> bool:

    def without(step: DocumentNode, index: int) -> bool:
        return session.attempt_edit(lambda document: document.remove_carried(step, index))

    results = [without(step, index) for step, index in reversed(session.main_document.carried_values())]
    return any(results)


def _replace_inner_by_constants(session: ReductionSession) -> bool:
    """Replace nodes by constants with their values in iteration 0 of the enclosing loops."""
    values = {_node_id(step): (step, value) for step, value in _first_inner_values(session)}

    def members() -> list[str]:
        ids = {
            _node_id(step) for step in session.main_document.inner_nodes() if step.op_type not in ("Constant", "Const")
        }
        return [id_ for id_ in values if id_ in ids]

    def without(chosen: Sequence[str]) -> bool:
        def edit(document: Document) -> bool:
            results = [document.replace_by_constant(*values[id_]) for id_ in chosen]
            return any(results)

        return session.attempt_edit(edit)

    return _delta_debug(members, without, whole=True)


def _node_id(step: DocumentNode) -> str:
    return repr((step.graph_path, step.key))


def _first_inner_values(session: ReductionSession) -> Iterator[tuple[DocumentNode, Data]]:
    """The first values of nodes of bodies."""
    sessions: dict[GraphPath, ReductionSession] = {(): session}
    for step in session.main_document.inner_nodes():
        home = sessions.get(step.graph_path) or _body_session(sessions, step.graph_path)
        if home is None:
            continue
        sessions[step.graph_path] = home
        values = home.values()
        if step.outputs and step.outputs[0] in values:
            yield step, values[step.outputs[0]]


def _body_session(sessions: dict[GraphPath, ReductionSession], path: GraphPath) -> ReductionSession | None:
    """A session for a body in iteration 0, with the initial values of the loop."""
    outer = sessions.get(path[:-1])
    if outer is None or path[-1][1] != "body":
        return None
    values = outer.values()
    try:
        candidate = single_iteration(outer, path[-1][0], 0, values)
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


def _bypass_inner_nodes(session: ReductionSession) -> bool:
    """Replace results of nodes of bodies by one of their inputs."""

    def without(step: DocumentNode, source: str) -> bool:
        return session.attempt_edit(lambda document: document.bypass_node(step, source))

    results = [
        any(without(step, source) for source in step.inputs) for step in reversed(session.main_document.inner_nodes())
    ]
    return any(results)
