"""A model file as it is cut: what reductions ask of it and change in it, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ...runtime.model import Data, Model

#: The graph that a node is in: the keys of the nodes around it, outermost first, each with the word of the inner graph.
Where = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Step:
    """A node of a document. ``key``: its first output, which names it; ``where``: the graph that it is in, ``()`` for
    the main one; ``inputs``: what it reads, with what its inner graphs capture."""

    key: str
    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    where: Where = ()


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

    def steps(self) -> list[Step]:
        """The nodes of the main graph, in order."""

    def inner_steps(self) -> list[Step]:
        """The nodes of all other graphs, those of outer graphs first."""

    def model(self) -> Model:
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

    def mark(self) -> bytes:
        """The same bytes for what is the same."""

    # -- the main graph

    def freeze(self, values: Mapping[str, Data]) -> None:
        """Values that nodes of the main graph make become inputs."""

    def show(self, values: Mapping[str, Data | None]) -> None:
        """Have these outputs and no others; the data tells their types where it is known."""

    def clean(self) -> None:
        """Leave out what no output needs: nodes, inputs, constants."""

    # -- loops: those of the main graph by their keys

    def loops(self) -> list[Step]:
        """The loops of the main graph."""

    def initials(self, key: str) -> list[str]:
        """What is carried into the first iteration."""

    def finals(self, key: str) -> list[str]:
        """What is carried out of the last iteration, a name made for each that has none."""

    def limit(self, key: str, where: Where, count: int, values: Mapping[str, Data]) -> dict[str, Data] | None:
        """Let a loop, which may be in an inner graph, run no more iterations than that; returns what are inputs now.
        None where it cannot be, or changes nothing, as below."""

    def begin(self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]) -> dict[str, Data] | None:
        """Let a loop start with iteration ``at`` and these carried values; returns what are inputs now."""

    def peel(self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]) -> dict[str, Data] | None:
        """Be one iteration of the body of a loop, and nothing else; returns what are inputs now. Outputs are what the
        body gives."""

    def branches(self) -> list[Step]:
        """The Ifs of the main graph."""

    def take(self, key: str, values: Mapping[str, Data]) -> bool:
        """Put the branch of an If that the values take in its place; False where it cannot be."""

    # -- inner graphs

    def settle(self, step: Step, value: Data) -> bool:
        """A node of an inner graph becomes a constant; False where it cannot."""

    def bypass(self, step: Step, source: str) -> bool:
        """What a node of an inner graph gives is read from one of its inputs instead; False where it cannot be."""

    def carried(self) -> list[tuple[Step, int]]:
        """The carried values of all loops: the loop and which of them."""

    def uncarry(self, step: Step, which: int) -> bool:
        """A carried value is what it begins with in every iteration; False where it cannot be."""

    def unread(self) -> list[tuple[Step, int]]:
        """What loops carry and collect and nobody reads: the loop and which result of its body."""

    def drop(self, step: Step, which: Sequence[int]) -> bool:
        """Leave out results of the body of a loop that nobody reads; False where they cannot be."""

    # -- data

    def constants(self) -> dict[str, Data]:
        """All constants by name, those of inner graphs too."""

    def set_constants(self, values: Mapping[str, Data]) -> None:
        """Other data for constants."""

    def fit_inputs(self, inputs: Mapping[str, Data]) -> None:
        """Declare inputs as these values are, and forget what is declared of values inside."""

    def tidy(self) -> list[Callable[[], None]]:
        """Ways to leave out what says nothing of what is computed, each on its own."""


@dataclass(frozen=True)
class Candidate:
    """What may show a finding: one document, or two that differ, and the inputs of both."""

    documents: tuple[Document, ...]
    inputs: Mapping[str, Data]

    def copy(self) -> Candidate:
        """Another one whose documents can be changed."""
        return Candidate(tuple(one.copy() for one in self.documents), dict(self.inputs))

    def cleaned(self) -> Candidate:
        """It without what no output needs."""
        for one in self.documents:
            one.clean()
        used = {name for one in self.documents for name in one.inputs}
        return Candidate(self.documents, {name: value for name, value in self.inputs.items() if name in used})

    def of(self, document: Document) -> dict[str, Data]:
        """The inputs of one of the documents."""
        return {name: self.inputs[name] for name in document.inputs if name in self.inputs}

    @property
    def count(self) -> int:
        """How many nodes it has, in inner graphs too."""
        return sum(len(one.steps()) + len(one.inner_steps()) for one in self.documents)
