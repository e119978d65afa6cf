"""Checks that ``diff`` names one change in a random model, and finds nothing else.

A case depends only on its name: ``onnx operator 17`` is a format, a kind of change, and a number.
"""

from __future__ import annotations

import difflib
import itertools
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loopdbg
from comparable_values import canonical_values
from loopdbg.debugger.compare.alignment.apply_edits import apply_edits
from loopdbg.debugger.compare.edits import EditKind
from loopdbg.debugger.compare.report.findings import Cause, Comparison, EditEffect, StaticDifference, Verdict
from loopdbg.debugger.compare.report.text_report import report_lines
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.runtime.errors import LoopdbgError, ModelError
from loopdbg.runtime.frontends.tensorrt.network_lowering import lower_network
from loopdbg.runtime.graph import walk
from strategies import network_mutations, program_generator, program_mutations
from strategies.draws import ChoiceSource, SeededChoices
from strategies.ir_export import write_ir
from strategies.onnx_export import to_onnx
from strategies.program import Program
from strategies.program_mutations import Mutation
from strategies.program_oracle import terminates
from strategies.program_text import program_text
from strategies.rename_values import rename_values
from strategies.tensorrt_networks import NetworkGenerator
from text_models import load_proto

EXACT_OPTIONS = ComparisonOptions(Tolerance(0, 0))
#: Maximum number of iterations: a value that doubles in each would fill the memory.
MAX_ITERATIONS = 12
#: Number of models that are tried until a change of a kind is visible in an output.
MAX_ATTEMPTS = 60
#: The features that the models may have.
_FEATURES = ("growing", "rows", "delayed", "direct", "products", "condition", "nested", "branches", "scan")
#: Features that a kind of change requires: ONNX's Loop slices nothing.
_REQUIRED_FEATURES = {"slice": {"scan"}, "branches": {"branches"}, "end": {"rows"}}
#: The kinds of changes in each format; ``renamed``: in ONNX, and the other model has other names throughout. Random
#: programs for OpenVINO have no branches.
MUTATION_KINDS: Mapping[str, tuple[str, ...]] = {
    "onnx": tuple(program_mutations.MUTATIONS),
    "renamed": tuple(program_mutations.MUTATIONS),
    "openvino": tuple(kind for kind in program_mutations.MUTATIONS if kind != "branches"),
    "tensorrt": tuple(network_mutations.MUTATIONS),
}


@dataclass
class ProgramMutant:
    """Two models with one difference, and the inputs of both."""

    left: loopdbg.Model
    right: loopdbg.Model
    feeds: Mapping[str, Any]
    mutation: Mutation
    #: The programs, if the models were made from programs.
    programs: tuple[Program, Program] | None = None

    @property
    def models(self) -> tuple[loopdbg.Model, loopdbg.Model]:
        return self.left, self.right


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of cases, with all formats and kinds in turn."""
    every = [f"{system} {kind}" for system, kinds in MUTATION_KINDS.items() for kind in kinds]
    return [f"{every[k % len(every)]} {k // len(every)}" for k in numbers]


def judge_case(name: str) -> str:
    """The outcome of a case: ``exact``, ``unseen`` if no change was visible, or else what is wrong."""
    return judge_mutant(make_case(name))


def judge_mutant(mutant: ProgramMutant | None) -> str:
    """The outcome of a mutant: ``exact``, ``unseen`` for None, or else what is wrong."""
    if mutant is None:
        return "unseen"
    comparison = compare_mutant(mutant)
    wrong = (
        judge(comparison, mutant.mutation)
        or missed_part(comparison, mutant.mutation)
        or failed_claim(comparison, mutant)
    )
    return (wrong and f"{wrong} [{mutant.mutation.text}]") or "exact"


def make_case(name: str) -> ProgramMutant | None:
    """The first mutant of a case whose outputs differ."""
    system, kind, _ = name.split()
    draw = SeededChoices(name)
    for _ in range(MAX_ATTEMPTS):
        try:
            mutant = _mutate_network(kind, draw) if system == "tensorrt" else _mutate_program(system, kind, draw)
        except ModelError:
            continue  # an invalid model is skipped
        if mutant is not None and _changes_outputs(mutant):
            return mutant
    return None


def _mutate_program(system: str, kind: str, draw: ChoiceSource) -> ProgramMutant | None:
    chosen = (
        {name for name in _FEATURES if draw.chance(25)}
        | {"attributes", "products"}
        | _REQUIRED_FEATURES.get(kind, set())
    )
    program = program_generator.draw_program(draw, chosen | ({"openvino"} if system == "openvino" else set()))
    feeds = program_mutations.turn_inputs_into_weights(program, program_generator.draw_feeds(program, draw), draw)
    changed = program_mutations.mutate(program, kind, draw)
    if changed is None:
        return None
    other, mutation = changed
    # A value that doubles in each iteration of two nested loops would fill the memory.
    if not (terminates(program, feeds) and terminates(other, feeds)):
        return None
    if system != "renamed":
        return ProgramMutant(_load_program(program), _load_program(other), feeds, mutation, (program, other))
    renamed: dict[str, str] = {}
    right = load_proto(rename_values(to_onnx(other), draw, renamed))
    # What only the right model has has its name there.
    inserted = renamed.get("inserted", "inserted")
    mutation = mutation.also_called(lambda part: {inserted, *part.replaced_unless(("inserted",))})
    return ProgramMutant(_load_program(program), right, feeds, mutation, (program, other))


def _load_program(program: Program) -> loopdbg.Model:
    if program.system == "openvino":
        with tempfile.TemporaryDirectory() as folder:
            return loopdbg.load(write_ir(program, Path(folder) / "random.xml"))
    return load_proto(to_onnx(program))


def _mutate_network(kind: str, draw: ChoiceSource) -> ProgramMutant | None:
    seed = f"network {draw.integer(0, 1 << 40)}"
    makers = NetworkGenerator(SeededChoices(seed)), NetworkGenerator(SeededChoices(seed))
    nets = [maker.network() for maker in makers]
    feeds = makers[0].feeds(draw)
    mutation = network_mutations.mutate(makers[1], kind, draw)
    if mutation is None:
        return None
    left, right = (loopdbg.Model(lower_network(net, "random")) for net in nets)
    return ProgramMutant(left, right, feeds, mutation)


def _changes_outputs(mutant: ProgramMutant) -> bool:
    """Whether both run with different outputs, and either of two changes alone gives others; the sign of a zero is
    ignored. Where one gives the outputs of both, it is the whole cause, and nothing shows the other one."""
    models = [*mutant.models, *map(_load_program, mutant.mutation.alone)]
    try:
        runs = [model.execute(mutant.feeds, max_iterations=MAX_ITERATIONS).outputs for model in models]
    except LoopdbgError:
        return False
    values = [None if outputs is None else list(canonical_values(outputs).values()) for outputs in runs]
    return None not in values and all(a != b for a, b in itertools.combinations(values, 2))


def compare_mutant(mutant: ProgramMutant) -> Comparison:
    sides = [
        ModelSide(model, mutant.feeds, MAX_ITERATIONS, label)
        for model, label in zip(mutant.models, ("left", "right"), strict=True)
    ]
    return compare_sides(sides[0], sides[1], EXACT_OPTIONS)


def judge(comparison: Comparison, mutation: Mutation) -> str:
    """What is wrong with the report on a change; empty if nothing is."""
    wanted = mutation.names
    if comparison.verdict is not Verdict.DIFFER:
        return f"SAME: {comparison.verdict.value}"
    if not comparison.static_differences:
        return "SILENT: nothing is written otherwise"
    strangers = [
        item
        for item in comparison.static_differences
        if not (listed_name(item) in wanted or is_folded(item, mutation))
        and (item.kind, listed_name(item)) not in omissions(mutation.unread)
    ]
    if strangers:
        texts = (f"{item.kind} '{item.name or item.loop_path}' ({item.effect.value})" for item in strangers)
        return f"MISLEADS: lists {', '.join(texts)}, not {sorted(wanted)}"
    if comparison.static_differences[0].effect is not EditEffect.CAUSE:
        demonstration = comparison.demonstration
        return f"UNPROVED: {'no proof' if demonstration is None else demonstration.text}"
    readers = {
        item.edit.left_value.name
        for item in comparison.static_differences
        if item.edit is not None and item.edit.left_value is not None and item.kind.startswith("node ")
    }
    readers |= {item.name for item in comparison.static_differences if is_folded(item, mutation)}
    # The first difference may name the value that is read no longer, next to the one in its place.
    readers |= {part.replaced for part in (mutation, *mutation.parts)} - {""}
    causes = first_difference_causes(comparison)
    blamed = [name for cause in causes for name in wrongly_blamed(cause, wanted | readers)]
    return f"BLAMES: {', '.join(blamed)}, not {sorted(wanted)}" if blamed else ""


def is_folded(difference: StaticDifference, mutation: Mutation) -> bool:
    """Whether it is a constant that a tool wrote for a node that was changed, with that one's name on the right, or in
    place of a constant, with a new name."""
    parts = (mutation, *mutation.parts)
    replaced = any(difference.name == part.replaced and not difference.other.startswith(part.read) for part in parts)
    return difference.kind == EditKind.CONSTANT.value and (difference.other in mutation.names or replaced)


def omissions(unread: Iterable[str]) -> set[tuple[str, str]]:
    return {(EditKind.NODE_OMITTED.value, name) for name in unread}


def missed_part(comparison: Comparison, mutation: Mutation) -> str:
    """Which of several changes is not listed; empty if all are."""
    listed = {listed_name(item) for item in comparison.static_differences}
    if omissions(mutation.unread) & {(item.kind, listed_name(item)) for item in comparison.static_differences}:
        return ""
    missed = [
        sorted(part.names)
        for part in mutation.parts
        if not (part.names & listed or any(is_folded(item, part) for item in comparison.static_differences))
    ]
    return f"MISSES: {missed}" if missed else ""


def failed_claim(comparison: Comparison, mutant: ProgramMutant) -> str:
    """The claim about causes that does not hold: with the causes applied the left model has the outputs of the right
    one, and with one cause fewer it has not. Empty if all hold."""
    edits = [item.edit for item in comparison.static_differences if item.effect is EditEffect.CAUSE]
    causes = [edit for edit in edits if edit is not None]
    if not causes or comparison.script is None:
        return ""
    demonstration = comparison.demonstration
    with_iterations = demonstration is not None and "and the iterations" in demonstration.text
    wanted = behaviour(mutant.right, mutant.feeds, with_iterations)
    for chosen in (causes, *([edit for edit in causes if edit is not left_out] for left_out in causes)):
        try:
            graph = apply_edits(mutant.left.graph, mutant.right.graph, comparison.script, chosen)
            result = behaviour(loopdbg.Model(graph), mutant.feeds, with_iterations)
        except LoopdbgError:
            result = None
        if (result == wanted) is not (len(chosen) == len(causes)):
            names = ", ".join(edit.left_name or edit.right_name for edit in chosen)
            return f"CLAIM: with {names or 'no edit'} applied the outputs are {'' if result == wanted else 'not '}equal"
    return ""


def behaviour(model: loopdbg.Model, feeds: Mapping[str, Any], with_iterations: bool) -> tuple[list[Any], list[int]]:
    """The outputs of a model, in order, and how often its loops ran."""
    run = model.execute(feeds, max_iterations=MAX_ITERATIONS)
    iterations = sorted(loop.iterations for loop in run.loops) if with_iterations else []
    return [canonical_values({"": value}) for value in run.outputs.values()], iterations


def listed_name(difference: StaticDifference) -> str:
    """The name of a listed difference, of a constant that is subtracted without its sign; for a property of a whole
    loop the loop's name."""
    return difference.name.removeprefix("-") or f"loop {difference.loop_path.rpartition(' ▸ ')[2]}"


def first_difference_causes(comparison: Comparison) -> Iterator[Cause]:
    """The reported causes of the first difference."""
    first = comparison.first
    cause = comparison.cause if first is None else first.cause
    if cause is not None:
        yield cause


def wrongly_blamed(cause: Cause, wanted: frozenset[str]) -> Iterator[str]:
    """The blamed nodes that were not changed."""
    if cause.node is not None and not {cause.node.name, f"loop {cause.node.node}"} & wanted:
        yield f"{cause.node.op_type} '{cause.node.name}'"
    source = cause.source
    if source is None or source.role not in ("constant", "input", "sliced input"):
        return
    if source.name.removeprefix("-") not in wanted:
        yield f"{source.role} '{source.name}'"


def describe_case(name: str) -> str:
    """A case as readable text: the change, both models side by side, and what diff reports."""
    mutant = make_case(name)
    if mutant is None:
        return "no change is seen in what the models give"
    texts = (
        [program_text(p).split("\n") for p in mutant.programs]
        if mutant.programs
        else [all_nodes(m) for m in mutant.models]
    )
    both = difflib.unified_diff(*texts, "left", "right", n=100, lineterm="")
    return "\n".join(
        [
            f"{mutant.mutation.text}; may be called {sorted(mutant.mutation.names)}",
            *both,
            *report_lines(compare_mutant(mutant)),
        ]
    )


def all_nodes(model: loopdbg.Model) -> list[str]:
    """The nodes of a model."""
    return [f"{node.op_type} {node.name}: {node.inputs} -> {node.outputs}" for node in walk(model.graph)]
