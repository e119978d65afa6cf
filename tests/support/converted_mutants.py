"""Random models next to what another tool makes of a mutant: ``diff`` names the mutation and nothing of the tool.

A case is made from its name alone: ``optimised operator 17`` is a tool, a kind of mutation, and a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import onnx

import loopdbg
from comparable_values import canonical_values
from equivalent_models import (
    TRANSFORMATIONS,
    ModelNotSupportedError,
    add_initial_conditions,
    is_installed,
    model_loops,
    with_initializers,
)
from loopdbg.debugger.compare.report.text_report import report_lines
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.graph import Loop, walk, walk_graphs
from program_mutants import (
    MAX_ITERATIONS,
    ProgramMutant,
    all_nodes,
    compare_mutant,
    judge_mutant,
)
from program_mutants import (
    make_case as make_mutant,
)
from strategies import program_mutations
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_export import to_onnx
from strategies.program import Program
from strategies.program_mutations import Mutation
from text_models import load_proto

#: Number of mutants that are tried until a tool takes one: most are taken. An invisible change takes as long as sixty
#: others: the third one ends a case.
_MAX_MUTANTS, _MAX_UNSEEN = 20, 3


def _keep(source: onnx.ModelProto, draw: ChoiceSource) -> loopdbg.Model:
    return load_proto(source)


#: What makes the other file of a mutant.
TOOLS: Mapping[str, Callable[[onnx.ModelProto, ChoiceSource], loopdbg.Model]] = {
    "unmodified": _keep,
    **{tool: TRANSFORMATIONS[tool] for tool in ("opset", "optimised", "simplified", "slimmed", "openvino")},
}


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of cases, of all tools that are installed and all kinds of mutation in turn."""
    tools = [tool for tool in TOOLS if is_installed(tool)]
    every = [f"{tool} {kind}" for kind in program_mutations.MUTATIONS for tool in tools]
    return [f"{every[k % len(every)]} {k // len(every)}" for k in numbers]


def judge_case(name: str) -> str:
    """What came of a case: ``exact``, ``unseen`` where the tool takes no such mutant, or else what is wrong."""
    return judge_mutant(make_case(name))


def make_case(name: str) -> ProgramMutant | None:
    """The first mutant of a case that the tool takes and leaves as it computes."""
    tool, kind, number = name.split()
    draw = SeededChoices(name)
    unseen = 0
    for attempt in range(_MAX_MUTANTS):
        mutant = make_mutant(f"onnx {kind} {number}.{attempt}")
        if mutant is None or mutant.programs is None:
            unseen += 1
            if unseen == _MAX_UNSEEN:
                break
            continue
        if tool == "openvino":
            for program in mutant.programs:
                add_initial_conditions(program)
        try:
            sources = [to_onnx(program, insulated=tool in ("openvino", "optimised")) for program in mutant.programs]
            left, plain = (load_proto(source) for source in sources)
            right = TOOLS[tool](with_initializers(sources[1]), draw)
            runs = [model.execute(mutant.feeds, max_iterations=MAX_ITERATIONS) for model in (plain, right, left)]
        except (ModelNotSupportedError, LoopdbgError):
            continue
        # OpenVINO's converter lets a loop run once that counts slices which nothing reads.
        iterations = [sorted(loop.iterations for loop in run.loops) for run in runs[:2]]
        alike = len(model_loops(plain)) == len(model_loops(right)) and iterations[0] == iterations[1]
        if not alike or None in [run.outputs for run in runs]:
            continue
        values = [canonical_values(run.outputs or {}) for run in runs]
        if values[0] == values[1] != values[2]:
            mutation = _as_converted(mutant.mutation, mutant.programs[1], (left, plain), right)
            unread = program_mutations.unread_names(*mutant.programs)
            unread |= program_mutations.bypassed_names(mutation, mutant.programs[0]) - value_names(right)
            return ProgramMutant(left, right, mutant.feeds, replace(mutation, unread=unread))
    return None


def _as_converted(
    mutation: Mutation, program: Program, models: Iterable[loopdbg.Model], converted: loopdbg.Model
) -> Mutation:
    """The mutation with what it may be called where a tool folded constants, and with the names of the copies that an
    insulated body returns."""
    nodes = [node for model in models for node in walk(model.graph)]
    copies = {
        (node.outputs[0].name, node.inputs[0].name)
        for node in nodes
        if node.op_type == "Identity" and node.outputs[0] is not None and node.inputs[0] is not None
    }
    returned = {
        (edge.result.name, edge.param.name, f"loop {loop.name}")
        for loop in nodes
        if isinstance(loop, Loop)
        for edge in loop.back_edges
    }
    sliced = {
        (port.outer.name, port.inner.name, f"loop {loop.name}")
        for loop in nodes
        if isinstance(loop, Loop)
        for port in loop.sliced_inputs
    }
    kept = value_names(converted)

    def more_names(part: Mutation) -> set[str]:
        names = {*part.names, *program_mutations.folded_readers(part.names, program), *part.replaced_unless(kept)}
        # Slices that are not read may be counted, and nothing of them is left but a trip count.
        names |= {loop for outer, inner, loop in sliced if {outer, inner} & names and inner not in kept}
        # A back edge reads the copy, which a tool makes the constant that it is a copy of.
        names |= {copy for copy, param, loop in returned if {param, loop} <= names}
        reached: set[str] = set()
        while names > reached:
            reached = set(names)
            names |= {copy for copy, source in copies if source in names}
        return names

    return mutation.also_called(more_names)


def value_names(model: loopdbg.Model) -> frozenset[str]:
    """The names of all values in a file."""
    names = {value.name for graph in walk_graphs(model.graph) for value in (*graph.inputs, *graph.constants)}
    names |= {value.name for node in walk(model.graph) for value in node.outputs if value is not None}
    # A converter numbers the copies of a constant.
    return frozenset(names | {re.sub(r"_\d+$", "", name) for name in names})


def describe_case(name: str) -> str:
    """A case as a person reads it: the mutation, the nodes of both models, and the report."""
    mutant = make_case(name)
    if mutant is None:
        return "the tool takes no such mutant"
    texts = ["\n".join(all_nodes(model)) for model in mutant.models]
    changed = f"{mutant.mutation.text}; may be called {sorted(mutant.mutation.names)}"
    return "\n\n".join([changed, *texts, "\n".join(report_lines(compare_mutant(mutant)))])
