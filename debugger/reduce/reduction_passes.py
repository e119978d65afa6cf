"""Ways to make a candidate smaller: iterations, outputs, nodes, what is inside of loops. Each tells if it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...runtime.model import Data
from .documents.document import Document, DocumentNode, GraphPath, ReductionCandidate
from .reduction_session import ReductionSession

LOOP_OPERATORS = ("Loop", "Scan", "TensorIterator")


def remove_metadata(lab: ReductionSession) -> bool:
    """Leave out what computes nothing."""
    before = lab.main_document.content_key()
    for k in range(len(lab.main_document.cleanups())):

        def act(document: Document, k: int = k) -> bool:
            document.cleanups()[k]()
            return True

        lab.attempt_edit(act)
    return before != lab.main_document.content_key()


# -- outputs


def keep_one_output(lab: ReductionSession) -> bool:
    """Only the output that shows it, then one of what comes before it."""
    changed = False
    if len(lab.main_document.outputs) > 1:
        names = [lab.observation.output] if lab.observation.output else lab.main_document.outputs
        changed = any(lab.attempt_edit(_set_outputs_edit({name: None})) for name in names)
    return _bisect_first_node(lab) or changed


def _bisect_first_node(lab: ReductionSession) -> bool:
    """The first node, in order, whose result shows it: by halves, as what comes later shows it too."""
    steps = lab.main_document.nodes()
    values = lab.values()
    if len(steps) < 2 or lab.observation.kind == "stop":
        return False
    low, high = 0, len(steps) - 1
    changed = False
    while low < high:
        middle = (low + high) // 2
        if lab.attempt_edit(_set_outputs_edit({name: values.get(name) for name in steps[middle].outputs})):
            changed, high = True, middle
        else:
            low = middle + 1
    return changed


def _set_outputs_edit(values: Mapping[str, Data | None]) -> Callable[[Document], bool]:
    def act(document: Document) -> bool:
        made = {name for step in document.nodes() for name in step.outputs} | set(document.outputs)
        if not values or not made.issuperset(values):
            return False
        document.set_outputs(values)
        return True

    return act


# -- nodes of the main graph


def remove_nodes(lab: ReductionSession) -> bool:
    """Nodes whose results can be given as inputs: all but one at once, halves, and so on to each alone."""
    values = lab.values()

    def without(keys: Sequence[str]) -> bool:
        steps = [step for step in lab.main_document.nodes() if step.key in keys]
        frozen = {name: values[name] for step in steps for name in step.outputs if name in values}
        return bool(frozen) and lab.attempt_edit(lambda document: _replace_by_inputs(document, frozen))

    return _delta_debug(lambda: [step.key for step in lab.main_document.nodes()], without)


def _replace_by_inputs(document: Document, values: Mapping[str, Data]) -> Mapping[str, Data] | None:
    made = {name for step in document.nodes() for name in step.outputs}
    if not made.issuperset(values):
        return None
    document.replace_by_inputs(values)
    return values


def _delta_debug(
    members: Callable[[], list[str]], without: Callable[[Sequence[str]], bool], whole: bool = False
) -> bool:
    """Delta debugging: leave out pieces of ever smaller sizes, as long as that works; ``whole``: all at first, else all
    but one."""
    changed = False
    size = len(members()) if whole else max(len(members()) - 1, 1)
    while size:
        now, at = members(), 0
        while at < len(now):
            piece = now[at : at + size]
            if set(piece) <= set(members()) and without(piece):
                changed = True
            at += size
        size //= 2
    return changed


def inline_branches(lab: ReductionSession) -> bool:
    """The branch that is taken in place of its If."""
    values = lab.values()

    def taken(key: str) -> bool:
        return lab.attempt_edit(lambda document: document.inline_branch(key, values))

    done = [taken(step.key) for step in lab.main_document.if_nodes()]
    return any(done)


# -- iterations


def reduce_iterations(lab: ReductionSession) -> bool:
    """Of each loop of the main graph: one iteration of its body alone, else as few as show it, begun as late as can
    be."""
    changed = False
    for step in lab.main_document.loops():
        if all(one.key != step.key for one in lab.main_document.loops()):
            continue
        changed |= _reduce_trip_count(lab, step)
        if _try_single_iteration(lab, step):
            return True
        changed |= _skip_iterations(lab, step)
    return changed


def _reduce_trip_count(lab: ReductionSession, step: DocumentNode, where: GraphPath = ()) -> bool:
    """The first iterations that show it."""
    values = {} if where else lab.values()
    most = lab.limit if where else lab.trip_count(step)

    def shows(count: int) -> bool:
        # Of two that run another number of iterations one may be short already.
        return lab.attempt_edit(lambda document: document.limit_iterations(step.key, where, count, values), every=False)

    low, high = 0, 1
    while most is None or high < most:
        if shows(high):
            break
        low, high = high, high * 2
    else:
        return False
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return True


def _try_single_iteration(lab: ReductionSession, step: DocumentNode) -> bool:
    """One iteration of the body, as a model: the last one, or the first."""
    values, trips = lab.values(), lab.trip_count(step)
    return any(lab.attempt(single_iteration(lab, step.key, at, values)) for at in dict.fromkeys((max(trips - 1, 0), 0)))


def single_iteration(lab: ReductionSession, key: str, at: int, values: Mapping[str, Data]) -> ReductionCandidate | None:
    """One iteration of the body of a loop."""
    state = lab.carried_state(key, at, values)
    if state is None:
        return None
    return lab.apply_edit(lambda document: document.replace_by_iteration(key, at, state, values))


def _skip_iterations(lab: ReductionSession, step: DocumentNode) -> bool:
    """The last iterations alone."""
    values, trips, count = lab.values(), lab.trip_count(step), 1
    while count < trips:
        at = trips - count
        if lab.attempt(_start_at_iteration(lab, step.key, at, values)):
            return True
        count *= 2
    return False


def _start_at_iteration(
    lab: ReductionSession, key: str, at: int, values: Mapping[str, Data]
) -> ReductionCandidate | None:
    """A loop that starts with a later iteration."""
    state = lab.carried_state(key, at, values)
    return (
        None if state is None else lab.apply_edit(lambda document: document.start_at_iteration(key, at, state, values))
    )


# -- inside of loops that have to stay


def remove_unread_results(lab: ReductionSession) -> bool:
    """Nothing that loops carry and collect and nobody reads."""

    def without(chosen: Sequence[str]) -> bool:
        found: dict[str, tuple[DocumentNode, list[int]]] = {}
        for step, which in lab.main_document.unread_results():
            if f"{_node_id(step)} {which}" in chosen:
                found.setdefault(_node_id(step), (step, []))[1].append(which)

        def act(document: Document) -> bool:
            # The inner ones first: an outer loop may get another key.
            done = [document.drop_results(step, which) for step, which in reversed(found.values())]
            return any(done)

        return lab.attempt_edit(act)

    return _delta_debug(
        lambda: [f"{_node_id(step)} {which}" for step, which in lab.main_document.unread_results()], without, whole=True
    )


def reduce_inner_graphs(lab: ReductionSession) -> bool:
    """Bodies and branches made smaller."""
    changed = _remove_carried_values(lab)
    changed |= _replace_inner_by_constants(lab)
    changed |= _bypass_inner_nodes(lab)
    changed |= remove_unread_results(lab)
    for step in lab.main_document.inner_nodes():
        if step.op_type in LOOP_OPERATORS and any(one == step for one in lab.main_document.inner_nodes()):
            changed |= _reduce_trip_count(lab, step, step.graph_path)
    return changed


def _remove_carried_values(lab: ReductionSession) -> bool:

    def without(step: DocumentNode, which: int) -> bool:
        return lab.attempt_edit(lambda document: document.remove_carried(step, which))

    done = [without(step, which) for step, which in reversed(lab.main_document.carried_values())]
    return any(done)


def _replace_inner_by_constants(lab: ReductionSession) -> bool:
    """Nodes become constants, with what they gave in iteration 0 of the loops around them."""
    found = {_node_id(step): (step, value) for step, value in _first_inner_values(lab)}

    def members() -> list[str]:
        here = {_node_id(step) for step in lab.main_document.inner_nodes() if step.op_type not in ("Constant", "Const")}
        return [one for one in found if one in here]

    def without(chosen: Sequence[str]) -> bool:
        def act(document: Document) -> bool:
            done = [document.replace_by_constant(*found[one]) for one in chosen]
            return any(done)

        return lab.attempt_edit(act)

    return _delta_debug(members, without, whole=True)


def _node_id(step: DocumentNode) -> str:
    return repr((step.graph_path, step.key))


def _first_inner_values(lab: ReductionSession) -> Iterator[tuple[DocumentNode, Data]]:
    """What the nodes of bodies gave first."""
    lab_of: dict[GraphPath, ReductionSession] = {(): lab}
    for step in lab.main_document.inner_nodes():
        home = lab_of.get(step.graph_path) or _body_session(lab_of, step.graph_path)
        if home is None:
            continue
        lab_of[step.graph_path] = home
        values = home.values()
        if step.outputs and step.outputs[0] in values:
            yield step, values[step.outputs[0]]


def _body_session(labs: dict[GraphPath, ReductionSession], where: GraphPath) -> ReductionSession | None:
    """A body in iteration 0, from where the loop stands."""
    outer = labs.get(where[:-1])
    if outer is None or where[-1][1] != "body":
        return None
    values = outer.values()
    try:
        candidate = single_iteration(outer, where[-1][0], 0, values)
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


def _bypass_inner_nodes(lab: ReductionSession) -> bool:
    """What nodes of bodies give is read from what they are given."""

    def without(step: DocumentNode, source: str) -> bool:
        return lab.attempt_edit(lambda document: document.bypass_node(step, source))

    done = [any(without(step, source) for source in step.inputs) for step in reversed(lab.main_document.inner_nodes())]
    return any(done)
