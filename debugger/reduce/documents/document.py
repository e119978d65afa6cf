"""The interface of a model file under reduction, independent of its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from ....runtime.model import Data, Model

#: Path of a graph: the keys of the enclosing nodes, outermost first, each with the attribute of the inner graph.
GraphPath = tuple[tuple[str, str], ...]
#: Values of the main graph in a run, by name.
Values = Mapping[str, Data]
#: The inputs that an edit adds to the model, with their values; None: the edit is impossible, or changes nothing.
NewInputs = dict[str, Data] | None


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

    #: The operators of loops.
    LOOP_OPERATORS: ClassVar[tuple[str, ...]]
    #: The operators of branches that can be inlined.
    BRANCH_OPERATORS: ClassVar[tuple[str, ...]] = ()
    #: Whether a run consists of several requests: inputs and outputs have a leading axis that counts them.
    is_over_requests: bool = False

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
        return self._describe_nodes(self.graph, ())

    def inner_nodes(self) -> list[DocumentNode]:
        """Return the nodes of all other graphs, outer graphs first."""
        graphs = self._walk_inner_graphs(self.graph, ())
        return [node for graph, path in graphs for node in self._describe_nodes(graph, path)]

    def build_model(self) -> Model:
        """Load it as a model.

        Raises:
            ModelError: it is not a valid model.
        """

    def is_valid(self) -> bool:
        """Whether the checker of its format accepts it; True if there is none, or the original was not accepted."""
        return True

    def save(self, folder: Path, stem: str) -> Path:
        """Write it; return the file that a runtime opens."""

    def text(self) -> str:
        """Return its graph as text for a report."""

    def content_key(self) -> bytes:
        """Return a key that is equal for equal contents."""

    # -- the main graph

    def replace_by_inputs(self, values: Values) -> None:
        """Turn values that nodes of the main graph compute into inputs."""

    def set_outputs(self, values: Mapping[str, Data | None]) -> None:
        """Set the outputs; the data defines their types, if known."""

    def remove_dead(self) -> None:
        """Remove nodes, inputs and constants that no output depends on."""

    # -- loops of the main graph, by key

    def loops(self) -> list[DocumentNode]:
        """Return the loops of the main graph."""
        return [node for node in self.nodes() if node.op_type in self.LOOP_OPERATORS]

    def initial_value_names(self, key: str) -> list[str]:
        """Return the names of the initial carried values."""

    def final_value_names(self, key: str) -> list[str]:
        """Return the names of the final carried values; unnamed ones get a name."""

    def limit_iterations(self, key: str, path: GraphPath, count: int, values: Values) -> NewInputs:
        """Limit the iterations of a loop, which may be in an inner graph; return the new inputs. None if that is
        impossible or changes nothing, as below."""

    def start_at_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        """Let a loop start with an iteration and these carried values; return the new inputs."""

    def replace_by_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        """Replace the model by one iteration of the body of a loop; return the new inputs. Outputs are the results of
        the body."""

    def inlinable_if_nodes(self) -> list[DocumentNode]:
        """Return the Ifs of the main graph that can be inlined."""
        return [node for node in self.nodes() if node.op_type in self.BRANCH_OPERATORS]

    def inline_branch(self, key: str, values: Values) -> bool:
        """Replace an If by the branch that the values select; False if that is impossible."""
        return False

    # -- inner graphs

    def replace_by_constant(self, node: DocumentNode, value: Data) -> bool:
        """Replace a node of an inner graph by a constant; False if that is impossible."""

    def bypass_node(self, node: DocumentNode, source: str) -> bool:
        """Replace the result of a node of an inner graph by one of its inputs; False if that is impossible."""

    def carried_values(self) -> list[tuple[DocumentNode, int]]:
        """Return the carried values of all loops: the loop and the index of the value."""
        return [(node, k) for node in self._all_loops() for k in range(self.carried_value_count(self.node_of(node)))]

    def remove_carried(self, node: DocumentNode, index: int) -> bool:
        """Replace a carried value by its initial value; False if that is impossible."""

    def unread_results(self) -> list[tuple[DocumentNode, int]]:
        """Return carried values and scan outputs without readers: the loop and the index of the body's result."""
        return [
            (node, k)
            for node in self._all_loops()
            for k in self.unread_result_indices(self.graph_at(node.graph_path), self.node_of(node))
        ]

    def drop_results(self, node: DocumentNode, indices: Sequence[int]) -> bool:
        """Remove results of a loop body without readers; False if that is impossible."""

    # -- data

    def constants(self) -> dict[str, Data]:
        """Return all constants by name, including those of inner graphs."""

    def set_constants(self, values: Values) -> None:
        """Replace the data of constants."""

    def declare_inputs(self, inputs: Mapping[str, Data]) -> None:
        """Declare inputs with the types of these values, and remove declarations of inner values."""

    def cleanup_edits(self) -> list[Callable[[], None]]:
        """Return independent edits that remove data without effect on results."""

    # -- graphs and nodes of the format

    @property
    def graph(self) -> Any:
        """The main graph."""

    def operators(self, graph: Any) -> Iterable[Any]:
        """Return the nodes of a graph, in order."""

    def inner_graphs(self, node: Any) -> Iterable[tuple[str, Any]]:
        """Return the graphs inside a node, with their attributes."""

    def find_node(self, graph: Any, key: str) -> Any:
        """Return the node of a graph with a key."""

    def describe_node(self, graph: Any, node: Any, path: GraphPath) -> DocumentNode:
        """Return a description of a node."""

    def carried_value_count(self, node: Any) -> int:
        """Return the number of carried values of a loop."""

    def unread_result_indices(self, graph: Any, node: Any) -> list[int]:
        """Return the indices of results of a loop's body without readers."""

    def graph_at(self, path: GraphPath) -> Any:
        """Return an inner graph."""
        graph = self.graph
        for key, word in path:
            graph = dict(self.inner_graphs(self.find_node(graph, key)))[word]
        return graph

    def node_of(self, node: DocumentNode) -> Any:
        """Return the node of a description."""
        return self.find_node(self.graph_at(node.graph_path), node.key)

    def _describe_nodes(self, graph: Any, path: GraphPath) -> list[DocumentNode]:
        return [self.describe_node(graph, node, path) for node in self.operators(graph)]

    def _walk_inner_graphs(self, graph: Any, path: GraphPath) -> Iterator[tuple[Any, GraphPath]]:
        for node in self.operators(graph):
            for word, inner in self.inner_graphs(node):
                inner_path = (*path, (self.describe_node(graph, node, path).key, word))
                yield inner, inner_path
                yield from self._walk_inner_graphs(inner, inner_path)

    def _all_loops(self) -> list[DocumentNode]:
        return [node for node in (*self.nodes(), *self.inner_nodes()) if node.op_type in self.LOOP_OPERATORS]


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
