"""Whether ``diff`` tells what one change in a random model was, and finds nothing where nothing was changed.

A case is made from its name alone: ``onnx operator 17`` is a system, a kind of change, and a number.
"""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import loopdbg
from loopdbg.debugger.diff.findings import Cause, Comparison, Verdict, Written
from loopdbg.debugger.diff.report import lines
from loopdbg.debugger.diff.sides import ModelSide
from loopdbg.debugger.diff.streams import Options, compare_sides
from loopdbg.debugger.diff.values import Tolerance
from loopdbg.runtime.errors import LoopdbgError, ModelError
from loopdbg.runtime.frontends.tensorrt.lower import lower
from loopdbg.runtime.graph import walk
from models import loaded
from plain import all_plain
from strategies import models, mutations, network_mutations
from strategies.draws import Draw, FromSeed
from strategies.ir_form import to_ir
from strategies.mutations import Mutation
from strategies.onnx_form import to_onnx
from strategies.programs import Program
from strategies.renamed import renamed
from strategies.tensorrt import Maker
from strategies.text_form import text

EXACT = Options(Tolerance(0, 0))
#: No loop runs more iterations: what doubles in each would fill the memory.
MOST = 12
#: Models that are tried until a change of a kind is seen in what one gives.
TRIES = 60
#: What the models may have.
_FEATURES = ("growing", "rows", "delayed", "direct", "products", "condition", "nested", "branches", "scan")
#: What models need to have what is changed: ONNX's Loop slices nothing.
_NEEDED = {"slice": {"scan"}}
#: Of all systems what can be changed; ``renamed``: in ONNX, and the other model has other names throughout.
KINDS: Mapping[str, tuple[str, ...]] = {
    "onnx": tuple(mutations.KINDS),
    "renamed": tuple(mutations.KINDS),
    "openvino": tuple(mutations.KINDS),
    "tensorrt": tuple(network_mutations.KINDS),
}


@dataclass
class Mutant:
    """Two models that differ in one thing, and what both are given."""

    left: loopdbg.Model
    right: loopdbg.Model
    feeds: Mapping[str, Any]
    mutation: Mutation
    #: The programs, where that is what they were made of.
    programs: tuple[Program, Program] | None = None

    @property
    def models(self) -> tuple[loopdbg.Model, loopdbg.Model]:
        return self.left, self.right


def names(numbers: Iterable[int]) -> list[str]:
    """The names of cases, of all systems and kinds in turn."""
    every = [f"{system} {kind}" for system, kinds in KINDS.items() for kind in kinds]
    return [f"{every[k % len(every)]} {k // len(every)}" for k in numbers]


def judged(name: str) -> str:
    """What came of a case: ``exact``, ``unseen`` where no change was seen, or else what is wrong."""
    mutant = made(name)
    if mutant is None:
        return "unseen"
    wrong = judge(compared(mutant), mutant.mutation.names)
    return (wrong and f"{wrong} [{mutant.mutation.text}]") or "exact"


def made(name: str) -> Mutant | None:
    """The first mutant of a case whose outputs differ."""
    system, kind, _ = name.split()
    draw = FromSeed(name)
    for _ in range(TRIES):
        try:
            mutant = _of_network(kind, draw) if system == "tensorrt" else _of_program(system, kind, draw)
        except ModelError:
            continue  # what cannot be built is no model
        if mutant is not None and _is_seen(mutant):
            return mutant
    return None


def _of_program(system: str, kind: str, draw: Draw) -> Mutant | None:
    chosen = {name for name in _FEATURES if draw.chance(25)} | {"attributes", "products"} | _NEEDED.get(kind, set())
    program = models.program(draw, chosen | ({"openvino"} if system == "openvino" else set()))
    feeds = mutations.with_weights(program, models.feeds(program, draw), draw)
    changed = mutations.mutated(program, kind, draw)
    if changed is None:
        return None
    other, mutation = changed
    if system != "renamed":
        return Mutant(_loaded(program), _loaded(other), feeds, mutation, (program, other))
    mutation = replace(mutation, names=mutation.names | {mutation.replaced})
    return Mutant(_loaded(program), loaded(renamed(to_onnx(other), draw)), feeds, mutation, (program, other))


def _loaded(program: Program) -> loopdbg.Model:
    if program.system == "openvino":
        with tempfile.TemporaryDirectory() as folder:
            return loopdbg.load(to_ir(program, Path(folder) / "random.xml"))
    return loaded(to_onnx(program))


def _of_network(kind: str, draw: Draw) -> Mutant | None:
    seed = f"network {draw.integer(0, 1 << 40)}"
    makers = Maker(FromSeed(seed)), Maker(FromSeed(seed))
    nets = [maker.network() for maker in makers]
    feeds = makers[0].feeds(draw)
    mutation = network_mutations.mutated(makers[1], kind, draw)
    if mutation is None:
        return None
    left, right = (loopdbg.Model(lower(net, "random")) for net in nets)
    return Mutant(left, right, feeds, mutation)


def _is_seen(mutant: Mutant) -> bool:
    """Whether both run and give something else; the sign of a zero is nothing."""
    try:
        runs = [model.execute(mutant.feeds, max_iterations=MOST) for model in mutant.models]
    except LoopdbgError:
        return False
    if any(run.outputs is None for run in runs):
        return False
    return bool(all_plain(runs[0].outputs) != all_plain(runs[1].outputs))


def compared(mutant: Mutant) -> Comparison:
    sides = [
        ModelSide(model, mutant.feeds, MOST, label)
        for model, label in zip(mutant.models, ("left", "right"), strict=True)
    ]
    return compare_sides(sides[0], sides[1], EXACT)


def judge(found: Comparison, wanted: frozenset[str]) -> str:
    """What is wrong with what is said of a change; empty where nothing is."""
    if found.verdict is not Verdict.DIFFER:
        return f"SAME: {found.verdict.value}"
    if not found.written:
        return "SILENT: nothing is written otherwise"
    strangers = [f"{one.kind} '{one.name or one.place}'" for one in found.written if called(one) not in wanted]
    if strangers:
        return f"MISLEADS: lists {', '.join(strangers)}, not {sorted(wanted)}"
    blamed = [name for cause in causes(found) for name in innocent(cause, wanted)]
    return f"BLAMES: {', '.join(blamed)}, not {sorted(wanted)}" if blamed else ""


def called(one: Written) -> str:
    """The name of what is listed; of what a whole loop has the loop's."""
    return one.name or f"loop {one.place.rpartition(' ▸ ')[2]}"


def causes(found: Comparison) -> Iterator[Cause]:
    """Where the first difference is said to come from."""
    first = found.first
    cause = found.cause if first is None else first.cause
    if cause is not None:
        yield cause


def innocent(cause: Cause, wanted: frozenset[str]) -> Iterator[str]:
    """What is to blame, unless it is what was changed."""
    if cause.node is not None and not {cause.node.name, f"loop {cause.node.node}"} & wanted:
        yield f"{cause.node.op_type} '{cause.node.name}'"
    source = cause.source
    if source is not None and source.role in ("constant", "input", "sliced input") and source.name not in wanted:
        yield f"{source.role} '{source.name}'"


def shown(name: str) -> str:
    """A case as a person reads it: the change, both models beside each other, and what is said of them."""
    mutant = made(name)
    if mutant is None:
        return "no change is seen in what the models give"
    texts = [text(p).split("\n") for p in mutant.programs] if mutant.programs else [nodes(m) for m in mutant.models]
    both = difflib.unified_diff(*texts, "left", "right", n=100, lineterm="")
    return "\n".join(
        [f"{mutant.mutation.text}; may be called {sorted(mutant.mutation.names)}", *both, *lines(compared(mutant))]
    )


def nodes(model: loopdbg.Model) -> list[str]:
    """The nodes of a model."""
    return [f"{node.op_type} {node.name}: {node.inputs} -> {node.outputs}" for node in walk(model.graph)]
