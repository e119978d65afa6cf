"""Ways to make a candidate smaller: iterations, outputs, nodes, what is inside of loops. Each tells if it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...runtime.model import Data
from .document import Candidate, Document, Step, Where
from .lab import Lab

LOOPS = ("Loop", "Scan", "TensorIterator")


def tidy(lab: Lab) -> bool:
    """Leave out what computes nothing."""
    before = lab.main.mark()
    for k in range(len(lab.main.tidy())):

        def act(document: Document, k: int = k) -> bool:
            document.tidy()[k]()
            return True

        lab.attempt_change(act)
    return before != lab.main.mark()


# -- outputs


def one_output(lab: Lab) -> bool:
    """Only the output that shows it, then one of what comes before it."""
    changed = False
    if len(lab.main.outputs) > 1:
        names = [lab.shown.output] if lab.shown.output else lab.main.outputs
        changed = any(lab.attempt_change(_showing({name: None})) for name in names)
    return _earlier(lab) or changed


def _earlier(lab: Lab) -> bool:
    """The first node, in order, whose result shows it: by halves, as what comes later shows it too."""
    steps = lab.main.steps()
    values = lab.values()
    if len(steps) < 2 or lab.shown.kind == "stop":
        return False
    low, high = 0, len(steps) - 1
    changed = False
    while low < high:
        middle = (low + high) // 2
        if lab.attempt_change(_showing({name: values.get(name) for name in steps[middle].outputs})):
            changed, high = True, middle
        else:
            low = middle + 1
    return changed


def _showing(values: Mapping[str, Data | None]) -> Callable[[Document], bool]:
    def act(document: Document) -> bool:
        made = {name for step in document.steps() for name in step.outputs} | set(document.outputs)
        if not values or not made.issuperset(values):
            return False
        document.show(values)
        return True

    return act


# -- nodes of the main graph


def fewer_nodes(lab: Lab) -> bool:
    """Nodes whose results can be given as inputs: all but one at once, halves, and so on to each alone."""
    values = lab.values()

    def without(keys: Sequence[str]) -> bool:
        steps = [step for step in lab.main.steps() if step.key in keys]
        frozen = {name: values[name] for step in steps for name in step.outputs if name in values}
        return bool(frozen) and lab.attempt_change(lambda document: _freeze(document, frozen))

    return _in_chunks(lambda: [step.key for step in lab.main.steps()], without)


def _freeze(document: Document, values: Mapping[str, Data]) -> Mapping[str, Data] | None:
    made = {name for step in document.steps() for name in step.outputs}
    if not made.issuperset(values):
        return None
    document.freeze(values)
    return values


def _in_chunks(members: Callable[[], list[str]], without: Callable[[Sequence[str]], bool], whole: bool = False) -> bool:
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


def branches(lab: Lab) -> bool:
    """The branch that is taken in place of its If."""
    values = lab.values()

    def taken(key: str) -> bool:
        return lab.attempt_change(lambda document: document.take(key, values))

    done = [taken(step.key) for step in lab.main.branches()]
    return any(done)


# -- iterations


def fewer_iterations(lab: Lab) -> bool:
    """Of each loop of the main graph: one iteration of its body alone, else as few as show it, begun as late as can
    be."""
    changed = False
    for step in lab.main.loops():
        if all(one.key != step.key for one in lab.main.loops()):
            continue
        changed |= _shorten(lab, step)
        if _peel(lab, step):
            return True
        changed |= _begin_late(lab, step)
    return changed


def _shorten(lab: Lab, step: Step, where: Where = ()) -> bool:
    """The first iterations that show it."""
    values = {} if where else lab.values()
    most = lab.limit if where else lab.trips(step)

    def shows(count: int) -> bool:
        # Of two that run another number of iterations one may be short already.
        return lab.attempt_change(lambda document: document.limit(step.key, where, count, values), every=False)

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


def _peel(lab: Lab, step: Step) -> bool:
    """One iteration of the body, as a model: the last one, or the first."""
    values, trips = lab.values(), lab.trips(step)
    return any(lab.attempt(peeled(lab, step.key, at, values)) for at in dict.fromkeys((max(trips - 1, 0), 0)))


def peeled(lab: Lab, key: str, at: int, values: Mapping[str, Data]) -> Candidate | None:
    """One iteration of the body of a loop."""
    state = lab.state(key, at, values)
    if state is None:
        return None
    return lab.changed(lambda document: document.peel(key, at, state, values))


def _begin_late(lab: Lab, step: Step) -> bool:
    """The last iterations alone."""
    values, trips, count = lab.values(), lab.trips(step), 1
    while count < trips:
        at = trips - count
        if lab.attempt(_begun(lab, step.key, at, values)):
            return True
        count *= 2
    return False


def _begun(lab: Lab, key: str, at: int, values: Mapping[str, Data]) -> Candidate | None:
    """A loop that starts with a later iteration."""
    state = lab.state(key, at, values)
    return None if state is None else lab.changed(lambda document: document.begin(key, at, state, values))


# -- inside of loops that have to stay


def unread(lab: Lab) -> bool:
    """Nothing that loops carry and collect and nobody reads."""

    def without(chosen: Sequence[str]) -> bool:
        found: dict[str, tuple[Step, list[int]]] = {}
        for step, which in lab.main.unread():
            if f"{_id(step)} {which}" in chosen:
                found.setdefault(_id(step), (step, []))[1].append(which)

        def act(document: Document) -> bool:
            # The inner ones first: an outer loop may get another key.
            done = [document.drop(step, which) for step, which in reversed(found.values())]
            return any(done)

        return lab.attempt_change(act)

    return _in_chunks(lambda: [f"{_id(step)} {which}" for step, which in lab.main.unread()], without, whole=True)


def inner(lab: Lab) -> bool:
    """Bodies and branches made smaller."""
    changed = _uncarried(lab)
    changed |= _settled(lab)
    changed |= _bypassed(lab)
    changed |= unread(lab)
    for step in lab.main.inner_steps():
        if step.op_type in LOOPS and any(one == step for one in lab.main.inner_steps()):
            changed |= _shorten(lab, step, step.where)
    return changed


def _uncarried(lab: Lab) -> bool:

    def without(step: Step, which: int) -> bool:
        return lab.attempt_change(lambda document: document.uncarry(step, which))

    done = [without(step, which) for step, which in reversed(lab.main.carried())]
    return any(done)


def _settled(lab: Lab) -> bool:
    """Nodes become constants, with what they gave in iteration 0 of the loops around them."""
    found = {_id(step): (step, value) for step, value in _inner_values(lab)}

    def members() -> list[str]:
        here = {_id(step) for step in lab.main.inner_steps() if step.op_type not in ("Constant", "Const")}
        return [one for one in found if one in here]

    def without(chosen: Sequence[str]) -> bool:
        def act(document: Document) -> bool:
            done = [document.settle(*found[one]) for one in chosen]
            return any(done)

        return lab.attempt_change(act)

    return _in_chunks(members, without, whole=True)


def _id(step: Step) -> str:
    return repr((step.where, step.key))


def _inner_values(lab: Lab) -> Iterator[tuple[Step, Data]]:
    """What the nodes of bodies gave first."""
    lab_of: dict[Where, Lab] = {(): lab}
    for step in lab.main.inner_steps():
        home = lab_of.get(step.where) or _entered(lab_of, step.where)
        if home is None:
            continue
        lab_of[step.where] = home
        values = home.values()
        if step.outputs and step.outputs[0] in values:
            yield step, values[step.outputs[0]]


def _entered(labs: dict[Where, Lab], where: Where) -> Lab | None:
    """A body in iteration 0, from where the loop stands."""
    outer = labs.get(where[:-1])
    if outer is None or where[-1][1] != "body":
        return None
    values = outer.values()
    try:
        candidate = peeled(outer, where[-1][0], 0, values)
    except (KeyError, StopIteration):
        return None
    if candidate is None:
        return None
    return Lab(outer.predicate, Candidate(candidate.documents[:1], candidate.inputs), outer.shown, limit=outer.limit)


def _bypassed(lab: Lab) -> bool:
    """What nodes of bodies give is read from what they are given."""

    def without(step: Step, source: str) -> bool:
        return lab.attempt_change(lambda document: document.bypass(step, source))

    done = [any(without(step, source) for source in step.inputs) for step in reversed(lab.main.inner_steps())]
    return any(done)
