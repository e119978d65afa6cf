"""A model file as it is cut: what reductions ask of it and change in it, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ....runtime.model import Data, Model

#: The graph that a node is in: the keys of the nodes around it, outermost first, each with the word of the inner graph.
GraphPath = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DocumentNode:
    """A node of a document. ``key``: its first output, which names it; ``where``: the graph that it is in, ``()`` for
    the main one; ``inputs``: what it reads, with what its inner graphs capture."""

    key: str
    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    graph_path: GraphPath = ()


class Document(Protocol):
    """A model file in memory. What changes it does so in place: copy it before. A key that it has not is a KeyError."""

    def copy(self) -> Self:
        """Another one that is the same."""

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs."""

    @property
    def outputs(self) -> list[str]:
        """The names of its outputs."""

    def nodes(self) -> list[DocumentNode]:
        """The nodes of the main graph, in order."""

    def inner_nodes(self) -> list[DocumentNode]:
        """The nodes of all other graphs, those of outer graphs first."""

    def build_model(self) -> Model:
        """It as a model of ours.

        Raises:
            ModelError: it is none.
        """

    def is_valid(self) -> bool:
        """Whether the checker of its format takes it, if that took what it is cut out of."""

    def save(self, folder: Path, stem: str) -> Path:
        """Write it; returns the file that a runtime opens."""

    def text(self) -> str:
        """Its graph in words, for a report."""

    def content_key(self) -> bytes:
        """The same bytes for what is the same."""

    # -- the main graph

    def replace_by_inputs(self, values: Mapping[str, Data]) -> None:
        """Values that nodes of the main graph make become inputs."""

    def set_outputs(self, values: Mapping[str, Data | None]) -> None:
        """Have these outputs and no others; the data tells their types where it is known."""

    def remove_dead(self) -> None:
        """Leave out what no output needs: nodes, inputs, constants."""

    # -- loops: those of the main graph by their keys

    def loops(self) -> list[DocumentNode]:
        """The loops of the main graph."""

    def initial_names(self, key: str) -> list[str]:
        """What is carried into the first iteration."""

    def final_names(self, key: str) -> list[str]:
        """What is carried out of the last iteration, a name made for each that has none."""

    def limit_iterations(
        self, key: str, where: GraphPath, count: int, values: Mapping[str, Data]
    ) -> dict[str, Data] | None:
        """Let a loop, which may be in an inner graph, run no more iterations than that; returns what are inputs now.
        None where it cannot be, or changes nothing, as below."""

    def start_at_iteration(
        self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]
    ) -> dict[str, Data] | None:
        """Let a loop start with iteration ``at`` and these carried values; returns what are inputs now."""

    def replace_by_iteration(
        self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]
    ) -> dict[str, Data] | None:
        """Be one iteration of the body of a loop, and nothing else; returns what are inputs now. Outputs are what the
        body gives."""

    def if_nodes(self) -> list[DocumentNode]:
        """The Ifs of the main graph."""

    def inline_branch(self, key: str, values: Mapping[str, Data]) -> bool:
        """Put the branch of an If that the values take in its place; False where it cannot be."""

    # -- inner graphs

    def replace_by_constant(self, step: DocumentNode, value: Data) -> bool:
        """A node of an inner graph becomes a constant; False where it cannot."""

    def bypass_node(self, step: DocumentNode, source: str) -> bool:
        """What a node of an inner graph gives is read from one of its inputs instead; False where it cannot be."""

    def carried_values(self) -> list[tuple[DocumentNode, int]]:
        """The carried values of all loops: the loop and which of them."""

    def remove_carried(self, step: DocumentNode, which: int) -> bool:
        """A carried value is what it begins with in every iteration; False where it cannot be."""

    def unread_results(self) -> list[tuple[DocumentNode, int]]:
        """What loops carry and collect and nobody reads: the loop and which result of its body."""

    def drop_results(self, step: DocumentNode, which: Sequence[int]) -> bool:
        """Leave out results of the body of a loop that nobody reads; False where they cannot be."""

    # -- data

    def constants(self) -> dict[str, Data]:
        """All constants by name, those of inner graphs too."""

    def set_constants(self, values: Mapping[str, Data]) -> None:
        """Other data for constants."""

    def declare_inputs(self, inputs: Mapping[str, Data]) -> None:
        """Declare inputs as these values are, and forget what is declared of values inside."""

    def cleanups(self) -> list[Callable[[], None]]:
        """Ways to leave out what says nothing of what is computed, each on its own."""


@dataclass(frozen=True)
class ReductionCandidate:
    """What may show a finding: one document, or two that differ, and the inputs of both."""

    documents: tuple[Document, ...]
    inputs: Mapping[str, Data]

    def copy(self) -> ReductionCandidate:
        """Another one whose documents can be changed."""
        return ReductionCandidate(tuple(one.copy() for one in self.documents), dict(self.inputs))

    def remove_dead(self) -> ReductionCandidate:
        """It without what no output needs."""
        for one in self.documents:
            one.remove_dead()
        used = {name for one in self.documents for name in one.inputs}
        return ReductionCandidate(self.documents, {name: value for name, value in self.inputs.items() if name in used})

    def inputs_for(self, document: Document) -> dict[str, Data]:
        """The inputs of one of the documents."""
        return {name: self.inputs[name] for name in document.inputs if name in self.inputs}

    @property
    def node_count(self) -> int:
        """How many nodes it has, in inner graphs too."""
        return sum(len(one.nodes()) + len(one.inner_nodes()) for one in self.documents)
