"""The interface of a model file under reduction, independent of its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ....runtime.model import Data, Model

#: Path of a graph: the keys of the enclosing nodes, outermost first, each with the attribute of the inner graph.
GraphPath = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DocumentNode:
    """A node of a document. ``key``: its first output, which identifies it; ``graph_path``: its graph, ``()`` for the
    main one; ``inputs``: its operands, including captures of its inner graphs."""

    key: str
    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    graph_path: GraphPath = ()


class Document(Protocol):
    """A model file in memory. Edits are in place: copy it before. An unknown key raises KeyError."""

    def copy(self) -> Self:
        """Return a copy."""

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs."""

    @property
    def outputs(self) -> list[str]:
        """The names of its outputs."""

    def nodes(self) -> list[DocumentNode]:
        """Return the nodes of the main graph, in order."""

    def inner_nodes(self) -> list[DocumentNode]:
        """Return the nodes of all other graphs, outer graphs first."""

    def build_model(self) -> Model:
        """Load it as a model.

        Raises:
            ModelError: it is not a valid model.
        """

    def is_valid(self) -> bool:
        """Whether the checker of its format accepts it; True if the original was not accepted."""

    def save(self, folder: Path, stem: str) -> Path:
        """Write it; return the file that a runtime opens."""

    def text(self) -> str:
        """Return its graph as text for a report."""

    def content_key(self) -> bytes:
        """Return a key that is equal for equal contents."""

    # -- the main graph

    def replace_by_inputs(self, values: Mapping[str, Data]) -> None:
        """Turn values that nodes of the main graph compute into inputs."""

    def set_outputs(self, values: Mapping[str, Data | None]) -> None:
        """Set the outputs; the data defines their types, if known."""

    def remove_dead(self) -> None:
        """Remove nodes, inputs and constants that no output depends on."""

    # -- loops of the main graph, by key

    def loops(self) -> list[DocumentNode]:
        """Return the loops of the main graph."""

    def initial_names(self, key: str) -> list[str]:
        """Return the names of the initial carried values."""

    def final_names(self, key: str) -> list[str]:
        """Return the names of the final carried values; unnamed ones get a name."""

    def limit_iterations(
        self, key: str, path: GraphPath, count: int, values: Mapping[str, Data]
    ) -> dict[str, Data] | None:
        """Limit the iterations of a loop, which may be in an inner graph; return the new inputs. None if that is
        impossible or changes nothing, as below."""

    def start_at_iteration(
        self, key: str, index: int, state: Sequence[Data], values: Mapping[str, Data]
    ) -> dict[str, Data] | None:
        """Let a loop start with an iteration and these carried values; return the new inputs."""

    def replace_by_iteration(
        self, key: str, index: int, state: Sequence[Data], values: Mapping[str, Data]
    ) -> dict[str, Data] | None:
        """Replace the model by one iteration of the body of a loop; return the new inputs. Outputs are the results of
        the body."""

    def if_nodes(self) -> list[DocumentNode]:
        """Return the Ifs of the main graph."""

    def inline_branch(self, key: str, values: Mapping[str, Data]) -> bool:
        """Replace an If by the branch that the values select; False if that is impossible."""

    # -- inner graphs

    def replace_by_constant(self, node: DocumentNode, value: Data) -> bool:
        """Replace a node of an inner graph by a constant; False if that is impossible."""

    def bypass_node(self, node: DocumentNode, source: str) -> bool:
        """Replace the result of a node of an inner graph by one of its inputs; False if that is impossible."""

    def carried_values(self) -> list[tuple[DocumentNode, int]]:
        """Return the carried values of all loops: the loop and the index of the value."""

    def remove_carried(self, node: DocumentNode, index: int) -> bool:
        """Replace a carried value by its initial value; False if that is impossible."""

    def unread_results(self) -> list[tuple[DocumentNode, int]]:
        """Return carried values and scan outputs without readers: the loop and the index of the body's result."""

    def drop_results(self, node: DocumentNode, indices: Sequence[int]) -> bool:
        """Remove results of a loop body without readers; False if that is impossible."""

    # -- data

    def constants(self) -> dict[str, Data]:
        """Return all constants by name, including those of inner graphs."""

    def set_constants(self, values: Mapping[str, Data]) -> None:
        """Replace the data of constants."""

    def declare_inputs(self, inputs: Mapping[str, Data]) -> None:
        """Declare inputs with the types of these values, and remove declarations of inner values."""

    def cleanups(self) -> list[Callable[[], None]]:
        """Return independent edits that remove data without effect on results."""


@dataclass(frozen=True)
class ReductionCandidate:
    """A model that may show a finding: one document, or two that differ, and their common inputs."""

    documents: tuple[Document, ...]
    inputs: Mapping[str, Data]

    def copy(self) -> ReductionCandidate:
        """Return a copy whose documents can be edited."""
        return ReductionCandidate(tuple(document.copy() for document in self.documents), dict(self.inputs))

    def remove_dead(self) -> ReductionCandidate:
        """Remove parts that no output depends on."""
        for document in self.documents:
            document.remove_dead()
        used = {name for document in self.documents for name in document.inputs}
        return ReductionCandidate(self.documents, {name: value for name, value in self.inputs.items() if name in used})

    def inputs_for(self, document: Document) -> dict[str, Data]:
        """Return the inputs of one of the documents."""
        return {name: self.inputs[name] for name in document.inputs if name in self.inputs}

    @property
    def node_count(self) -> int:
        """The number of nodes, including those of inner graphs."""
        return sum(len(document.nodes()) + len(document.inner_nodes()) for document in self.documents)
