"""The glossary of ``help WORD``."""

from __future__ import annotations

from collections.abc import Mapping

#: Term -> definition, in didactic order. Screens, messages and docs use the same terms.
GLOSSARY: Mapping[str, str] = {
    "loop": (
        "A node with a body that runs once an iteration: ONNX Loop and Scan, OpenVINO Loop and TensorIterator, "
        "TensorRT ILoop."
    ),
    "body": (
        "The graph inside of a loop, which runs once an iteration. Its parameters are what it gets, its results "
        "what it yields."
    ),
    "iteration": (
        "One run of a loop's body. They are counted from 0; iter is the number of the one that runs, at a "
        "boundary of the next."
    ),
    "boundary": (
        "The point between two iterations: carried values go to the next one, scan outputs grow, the condition is "
        "tested. step runs to the next boundary, and breakpoints on values are tested there."
    ),
    "trip count": (
        "The most iterations that a loop may run: it can end a loop sooner than the condition would, and never makes "
        "one run on. Absent, or -1 in OpenVINO, means no limit; in ONNX and TensorRT a negative one runs nothing."
    ),
    "execution condition": (
        "The boolean that lets a loop go on: the initial one is tested before iteration 0, then the one that "
        "each iteration yields decides whether the next one runs. So the iteration that yields false has run, and "
        "counts. cond in expressions."
    ),
    "initial condition": (
        "The execution condition before iteration 0, which comes from outside; where it is false, the loop runs no "
        "iteration, and carried values come out as they went in."
    ),
    "absent": (
        "An input of the loop that is not connected. An absent trip count is no limit. An absent condition is not the "
        "same as true: in ONNX what the body yields is then ignored, and only the trip count ends the loop."
    ),
    "yield": "To give, at the end of an iteration: what the body's results are. What it receives are its parameters.",
    "iteration number": "An input of the body that is the number of the iteration.",
    "back edge": (
        "The way from a result of the body to a parameter of it: what this iteration yields is what the next one gets."
    ),
    "carried value": (
        "What a back edge carries from one iteration to the next. Its initial value comes from outside; watch "
        "stops where it changes."
    ),
    "initial value": (
        "What iteration 0 gets in the place of a carried value: read once, when the loop is entered. init(x) in "
        "expressions."
    ),
    "merged": (
        "OpenVINO's word for a carried value with an initial value: a merged input feeds iteration 0, the back edge "
        "all others."
    ),
    "sliced input": (
        "An outer tensor cut along an axis; iteration i gets part i, backwards where the stride is negative. Where "
        "nothing else counts, the loop ends when there is no more part."
    ),
    "part": "What one iteration gets of a sliced input, or adds to a concatenated output.",
    "invariant input": (
        "An input of the body that is the same in every iteration of an entry. In OpenVINO a body sees nothing around "
        "it: what ONNX captures comes in as an invariant input."
    ),
    "capture": (
        "A value of a graph around the loop that the body uses by its name: the same in every iteration, and no "
        "iteration can change it."
    ),
    "scan output": (
        "An output that collects one element an iteration, stacked on a new axis or concatenated along one, the "
        "last iteration first where it is reversed."
    ),
    "stacked": "Collected on a new axis, one row an iteration: how ONNX and TensorRT collect.",
    "concatenated": (
        "Collected along an axis that is there already, which gets longer by one part an iteration: how OpenVINO "
        "collects. Backwards turns the order of the parts; inside a part nothing moves."
    ),
    "last value": (
        "An output of the loop that is what a back edge carried at the end; after no iteration the initial value."
    ),
    "recurrence": (
        "TensorRT's word for a carried value, seen as a sequence: first what went in, then what each iteration yields. "
        "So what iteration i collects of the recurrence itself is what it received."
    ),
    "kWHILE": (
        "TensorRT's condition: asked before an iteration, about that iteration. Where it is false, that one does not "
        "run. In ONNX and OpenVINO the condition is asked after an iteration, about the next one."
    ),
    "kCOUNT": "TensorRT's trip count; TripLimit.COUNT in Python.",
    "entry": (
        "One run of a loop from its first iteration to its last; an inner loop has one in each iteration of the "
        "outer one."
    ),
    "frame": "One running loop. Nested loops make a stack of frames, 0 the innermost; frame, up and down select one.",
    "breakpoint": "A place or a condition at which a run stops: break. A temporary one stops once: tbreak.",
    "watchpoint": (
        "Stops at the boundary where a value changed, crossed a number, settled, changed its shape or became "
        "NaN: watch."
    ),
    "logpoint": "Prints a text where a breakpoint would stop, and goes on: log.",
    "checkpoint": (
        "The state at a boundary, kept so that one can go back: back, goto and reverse-continue start from the "
        "nearest one and run forward. set history bounds what they take."
    ),
    "branch": (
        "What follows from a value that was set: a run next to the one that it left. branch lists them, undo goes "
        "back, compare says where two first differ. An If has branches as well, then and else."
    ),
    "trace": "A file with what a run carried at each boundary; a recording can be opened like a model.",
    "plan": "The flat list of instructions that a model is compiled to, the same for every way of running.",
    "kernel": "The compiled code that computes a node.",
    "slot": "The place in a plan that holds a value.",
}


def glossary_entry(word: str) -> str | None:
    """The definition of a term, also in plural or capitals; None: it is unknown."""
    word = " ".join(word.lower().replace("-", " ").replace("_", " ").split())
    names = {name.lower(): name for name in GLOSSARY}
    for stem in (word, word.removesuffix("s"), word.removesuffix("es")):
        for candidate in (stem, _ALIASES.get(stem, "").lower(), f"execution {stem}"):
            if candidate in names:
                return f"{names[candidate]}: {GLOSSARY[names[candidate]]}"
    return None


_ALIASES = {
    "cond": "execution condition",
    "carried": "carried value",
    "invariant": "invariant input",
    "slice": "sliced input",
    "scan": "scan output",
    "iter": "iteration",
    "last value output": "last value",
    "recording": "trace",
    "merged input": "merged",
    "concatenate": "concatenated",
    "kconcatenate": "concatenated",
    "stack": "stacked",
    "yielded": "yield",
    "while": "kWHILE",
    "triplimit.while": "kWHILE",
    "count": "kCOUNT",
    "triplimit.count": "kCOUNT",
    "irecurrence": "recurrence",
    "iterator": "sliced input",
    "iiterator": "sliced input",
}
