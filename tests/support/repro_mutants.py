"""Checks of what ``repro A B`` makes of one change in a random model: that another process sees the difference, and
that the changed element is in it and nothing unnecessary.

A case depends only on its name: ``onnx operator 17`` is a format, a kind of change, and a number.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import loopdbg
from comparable_values import canonical_values
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.reduce.documents.document import ReductionCandidate
from loopdbg.debugger.reduce.initial_candidate import NothingFoundError, find_model_difference, read_document
from loopdbg.debugger.reduce.reducer import reduce
from loopdbg.debugger.reduce.reduction_session import ReductionSession, document_values
from loopdbg.debugger.reduce.repro.repro import Repro, make_repro
from loopdbg.debugger.reduce.repro.repro_report import FindingSource
from loopdbg.runtime.child_process import python_command, run_child
from loopdbg.runtime.graph import Graph, Loop, walk_graphs
from program_mutants import MAX_ITERATIONS, MUTATION_KINDS, ProgramMutant
from program_mutants import make_case as make_mutant
from strategies.ir_export import write_ir
from strategies.onnx_export import to_onnx

#: The most tests of a reduction.
_MAX_TESTS = 400
#: What an IR adds to the name of a value that a body captures.
_IN_BODY = re.compile(r"_in_loop\d+$")
#: Seconds that the comparison of two reduced models in a process of its own may take.
_TIMEOUT_SECONDS = 60
#: Runs two models with the inputs that each has.
_COMPARISON = f"""
import sys, numpy, loopdbg
data, outputs = dict(numpy.load(sys.argv[3], allow_pickle=True)), []
for path in sys.argv[1:3]:
    model = loopdbg.load(path)
    known = {{port.name: data[port.name] for port in model.inputs if port.name in data}}
    outputs.append(model.run(known, max_iterations={10 * MAX_ITERATIONS}))
same = all(numpy.array_equal(a, b) for a, b in zip(*(item.values() for item in outputs)))
print("same" if same else "differ")
"""


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of cases, with both file formats and all kinds of change in turn."""
    every = [f"{system} {kind}" for system in ("onnx", "openvino") for kind in MUTATION_KINDS[system]]
    return [f"{every[k % len(every)]} {k // len(every)}" for k in numbers]


def judge_case(name: str) -> str:
    """The outcome of a case: ``exact``, ``unseen`` if no change was visible, or else what is wrong."""
    mutant = make_mutant(name)
    if mutant is None:
        return "unseen"
    with tempfile.TemporaryDirectory() as folder:
        try:
            wrong = judge_repro(mutant, make_mutant_repro(mutant, Path(folder)))
        except NothingFoundError:
            wrong = "NOTHING: no difference is found"
    return (wrong and f"{wrong} [{mutant.mutation.text}]") or "exact"


def make_mutant_repro(mutant: ProgramMutant, folder: Path) -> Repro:
    """The repro of a mutant's difference, in a folder."""
    assert mutant.programs is not None
    models = []
    for stem, program in zip(("left", "right"), mutant.programs, strict=True):
        if program.system == "openvino":
            models.append(loopdbg.load(write_ir(program, folder / f"{stem}.xml")))
        else:
            onnx.save(to_onnx(program), folder / f"{stem}.onnx")
            models.append(loopdbg.load(folder / f"{stem}.onnx"))
    finding = find_model_difference(models[0], models[1], mutant.feeds, Tolerance(0, 0), MAX_ITERATIONS)
    source = FindingSource([model.name for model in models])
    return make_repro(finding, source, folder / "pack", most=_MAX_TESTS)


def judge_repro(mutant: ProgramMutant, repro: Repro) -> str:
    """What is wrong with a repro; empty if nothing is."""
    inputs = repro.output.folder / "inputs.npz"
    np.savez(inputs, **repro.reduced.candidate.inputs)
    command = python_command("-c", _COMPARISON, *map(str, repro.output.models), str(inputs))
    process = run_child(command, timeout=_TIMEOUT_SECONDS)
    if not repro.confirmed or process is None or process.stdout.strip() != b"differ":
        return f"UNCONFIRMED: {'no end' if process is None else process.stderr or process.stdout!r}"
    packed = [loopdbg.load(path) for path in repro.output.models]
    names = {name for model in packed for name in (*names_in(model.graph), *(port.name for port in model.outputs))}
    # The element itself, though it be a copy that a comparison names by its readers.
    changes = [text.split() for text in mutant.mutation.text.split("; ")]
    wanted = {*mutant.mutation.names, *(word.strip(":") for words in changes for word in words[:2])}
    if any(words[0] == "scan" for words in changes):  # an IR names the loop's port by what reads it
        wanted |= {name for name in names if name.startswith("loop ")}
    if not {_IN_BODY.sub("", name) for name in names} & wanted:
        return f"LOST: none of {sorted(wanted)} among {sorted(names)}"
    return larger_than_needed(repro)


def names_in(graph: Graph) -> Iterator[str]:
    """The names of the values and loops of a model; of a node alone, which may read another value, that of its
    result."""
    for inner in walk_graphs(graph):
        yield from (value.name for value in (*inner.inputs, *inner.constants, *inner.outputs))
        for node in inner.nodes:
            yield from (value.name for value in (*node.inputs, *node.outputs) if value is not None)
            if isinstance(node, Loop):
                yield f"loop {node.name}"
                yield from (edge.param.name for edge in node.back_edges)


def larger_than_needed(repro: Repro) -> str:
    """Which nodes are not needed: the written files are reduced once more, and each node whose results both models
    agree on is replaced by them. Empty if all nodes are needed."""
    documents = tuple(read_document(path) for path in repro.output.models)
    candidate = ReductionCandidate(documents, repro.reduced.candidate.inputs)
    session = ReductionSession(
        repro.finding.test, candidate, repro.reduced.observation, limit=repro.finding.limit, most=_MAX_TESTS
    )
    again = reduce(session).candidate
    if again.node_count < candidate.node_count:
        return f"LARGER: {candidate.node_count} nodes, and reduced again {again.node_count}"
    values = [document_values(document, candidate.inputs, repro.finding.limit) for document in documents]
    for node in documents[0].nodes():
        shared = {name: values[0][name] for name in node.outputs if name in values[0] and name in values[1]}
        if not shared or canonical_values(shared) != canonical_values({name: values[1][name] for name in shared}):
            continue
        changed = ReductionCandidate(tuple(document.copy() for document in documents), candidate.inputs)
        try:
            for document in changed.documents:
                document.replace_by_inputs(shared)
        except (KeyError, ValueError):
            continue  # the other model computes it elsewhere
        inputs: dict[str, Any] = {**candidate.inputs, **shared}
        if repro.finding.test(ReductionCandidate(changed.documents, inputs).remove_dead()) is not None:
            return f"LARGER: {node.op_type} '{node.key}' is not needed"
    return ""


def describe_case(name: str) -> str:
    """A case as readable text: the change, the report, and the reduced models."""
    mutant = make_mutant(name)
    if mutant is None:
        return "no change is seen in what the models give"
    with tempfile.TemporaryDirectory() as folder:
        repro = make_mutant_repro(mutant, Path(folder))
        texts = [read_document(path).text() for path in repro.output.models]
    return "\n\n".join([mutant.mutation.text, *texts, str(repro)])
