"""Name scopes of an ONNX model: name resolution, and diagnostics for undefined names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...errors import ModelError
from ...graph import UNKNOWN_ORIGIN, Graph, Origin, Value
from ...record import record
from ...text import did_you_mean
from .proto import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto
from .proto_decoding import canonical_domain, value_type
from .unsupported_types import unsupported_type_text

#: (domain, name, overload).
FunctionKey = tuple[str, str, str]
#: The path to an inner graph: (position, attribute) of each enclosing node; empty for the main graph.
GraphPath = tuple[tuple[int, str], ...]


def function_key(proto: FunctionProto | NodeProto) -> FunctionKey:
    """The identity of a function, or of the function that a node may call."""
    name = proto.name if isinstance(proto, FunctionProto) else proto.op_type
    return canonical_domain(proto.domain), name, proto.overload


@record(frozen=True)
class FunctionCallContext:
    """The context shared by all graphs of one function call, or by the model's own graphs."""

    opsets: Mapping[str, int]
    #: The prefix of names inside a call, from the enclosing calls: ``layer_1/norm/``.
    prefix: str = ""
    #: The call's values of the function's attributes; None outside of functions.
    attributes: Mapping[str, AttributeProto] | None = None
    #: The enclosing functions, including this one.
    call_stack: tuple[FunctionKey, ...] = ()
    #: The origin of the call, for nodes of the function without one.
    source: Origin | Callable[[], Origin] = UNKNOWN_ORIGIN


class NameScope:
    """The names of one graph, or of one function call, whose nodes are inlined into the caller's graph.

    A name is looked up here, then in the enclosing graphs (IR specification, "Names Within a Graph"). A
    function does not see its caller's names.
    """

    def __init__(
        self,
        graph: Graph,
        proto: GraphProto | FunctionProto,
        context: FunctionCallContext,
        location_text: str = "",
        parent: NameScope | None = None,
        caller: NameScope | None = None,
        path: GraphPath | None = (),
    ) -> None:
        """``path``: the graph's path in the model; None for functions and the graphs inside them."""
        self.path = path
        self.graph = graph
        self.proto = proto
        self.context = context
        #: The end of every message: `` in the body of Loop 'decode'``.
        self.location_text = location_text
        self.parent = parent
        #: Searched after the parents, but not for shadowing.
        self.fallback_scope: NameScope | None = None
        #: The position of the node that is being read.
        self.position = 0
        #: None: an optional input that a function's caller omits.
        self.values: dict[str, Value | None] = {}
        #: Values of unsupported types, in all scopes of a model, each with its type.
        self.unsupported: dict[Value, str] = {}
        if parent is not None or caller is not None:
            self.unsupported = (parent or caller).unsupported  # type: ignore[union-attr]
        #: A function's output -> its name in the caller.
        self.renamed: dict[str, str] = {}
        self.types: dict[str, TypeProto] = {info.name: info.type for info in proto.value_info}
        if isinstance(proto, GraphProto):
            self.types.update((info.name, info.type) for info in proto.output)
        self._node_names: set[str] = caller._node_names if caller else set()
        self._own_names = {node.name for node in proto.node if node.name}

    def node_name(self, proto: NodeProto) -> str:
        """The node's own name, or one derived from type and position; unique in its graph."""
        prefix = self.context.prefix
        name = f"{prefix}{proto.name or f'{proto.op_type}_{self.position}'}"
        base, count = name, 1
        while name in self._node_names or (not proto.name and name.removeprefix(prefix) in self._own_names):
            count += 1
            name = f"{base}_{count}"
        self._node_names.add(name)
        return name

    def new_value(self, name: str) -> Value:
        """A new value of this scope with its declared type; not yet visible."""
        value = Value(self.renamed.get(name) or f"{self.context.prefix}{name}")
        self.set_declared_type(value, self.types.get(name), f"value '{name}'{self.location_text}")
        return value

    def set_declared_type(self, value: Value, declared: TypeProto | None, label: str) -> None:
        """Set the declared type of a value. ``label``: the start of error messages.

        Raises:
            UnsupportedError: an unknown element type.
        """
        unsupported = "" if declared is None else unsupported_type_text(declared)
        if unsupported:
            self.unsupported[value] = unsupported
        elif declared is not None:
            value.type = value_type(declared, label)

    def define(self, name: str, value: Value | None, label: str) -> None:
        """Make a node's output visible.

        Raises:
            ModelError: a value of that name is visible already (IR specification: static single assignment).
                Inputs and initializers of a body may hide outer names and are not defined here.
        """
        scope = self if name in self.values else self.scope_hidden_by(name)
        if scope is not None:
            graph_text = "its own graph" if scope is self else f"an enclosing graph{scope.location_text}"
            raise ModelError(
                f"{label}: its output '{name}' has the name of another value, in {graph_text}; rename one"
                " of the two (ONNX graphs are in static single assignment form)",
                name=name,
            )
        self.values[name] = value

    def scope_hidden_by(self, name: str) -> NameScope | None:
        """The nearest enclosing scope whose value a definition of ``name`` here would hide; None where there is none.

        In an enclosing graph, only its inputs, initializers and nodes before the one with this graph are visible (IR
        specification, "Graphs").
        """
        scope = self.parent
        while scope is not None and name not in scope.values:
            scope = scope.parent
        return scope

    def find(self, name: str, label: str) -> Value | None:
        """Look up a name; None: an input that a function's caller omits.

        Raises:
            ModelError: the name is undefined, defined later, or defined only inside a body.
        """
        scope: NameScope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent or scope.fallback_scope
        raise ModelError(self._undefined_name_message(name, label), name=name)

    def _enclosing_scopes(self) -> Iterator[NameScope]:
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def _undefined_name_message(self, name: str, label: str) -> str:
        for scope in self._enclosing_scopes():
            for position, node in enumerate(scope.proto.node):
                if name not in node.output:
                    continue
                if position == scope.position:
                    return f"{label} uses '{name}', which is an output of {_node_label(node, position)} itself"
                return (
                    f"{label} uses '{name}', which {_node_label(node, position)} produces only after it: they need each"
                    " other in a circle; correct the names of their inputs"
                )
        root = list(self._enclosing_scopes())[-1]
        for owner, graph in _inner_graphs(root.proto):
            if name in _defined_names(graph):
                return (
                    f"{label} uses '{name}', a value of {owner} that cannot be seen outside of it;"
                    " make it an output of that node"
                )
        visible = [known for scope in self._enclosing_scopes() for known in scope.values]
        hint = did_you_mean(name, visible) or "; correct the name"
        return f"{label} uses '{name}', which nothing defines{hint}"


def _node_label(node: NodeProto, position: int) -> str:
    return f"{node.op_type} '{node.name or f'{node.op_type}_{position}'}'"


def _inner_graphs(proto: GraphProto | FunctionProto) -> Iterator[tuple[str, GraphProto]]:
    """All graphs inside the nodes of a graph, each with its description."""
    for position, node in enumerate(proto.node):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                kind = attribute.name.replace("_", " ")
                yield f"the {kind} of {_node_label(node, position)}", attribute.g
                yield from _inner_graphs(attribute.g)


def all_names(proto: GraphProto | FunctionProto) -> list[str]:
    """Every name in a graph and in the graphs inside it."""
    names = [proto.name]
    if isinstance(proto, GraphProto):
        names += [info.name for info in (*proto.input, *proto.output, *proto.initializer)]
    else:
        names += (*proto.input, *proto.output)
    for node in proto.node:
        names += (node.op_type, node.name, node.domain, node.overload, *node.input, *node.output)
        for attribute in node.attribute:
            names.append(attribute.name)
            if attribute.type == AttributeProto.GRAPH:
                names += all_names(attribute.g)
    return names


def _defined_names(graph: GraphProto) -> set[str]:
    return {
        *(info.name for info in graph.input),
        *(tensor.name for tensor in graph.initializer),
        *(name for node in graph.node for name in node.output),
    }
