"""A model as TensorRT network code: loops by ILoop, Ifs by IIfConditional, other nodes by
:class:`.primitive_layers.TensorRTLayers`.

Unsupported models are refused with a reason (docs/semantics.md 8); differences are noted in comments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.errors import LoopdbgError, UnsupportedError, one_line
from ...runtime.graph import Array, Graph, If, Loop, Node, Operation, TensorType, Value, captured_values
from ...runtime.graph.producers import ProducerMap
from ...runtime.ops.eager import EagerPrimitives
from ...runtime.ops.primitive_types import NoNativeKernel
from ...runtime.ops.registry import resolve
from ..describe.termination import termination_rule
from ..describe.trip_count_bound import trip_count_bound
from .loop_writer import ILoopWriter
from .primitive_layers import ScriptTensor, TensorRTLayers, dtype_name
from .script_code import ScriptCode, shape_literal, string_literal
from .script_template import script_text

#: Operators that preserve a tensor's length and its zeros, so that they may read padded tensors.
_LENGTH_PRESERVING = frozenset({"Identity", "Cast", "Convert"})
#: Proven lengths from this one on are not declared: TensorRT's dimensions have 32 bits.
_MAX_PROVEN_CAPACITY = np.iinfo(np.int32).max
_NO_LAYER_TEXT = "no TensorRT layer is known to do this"


class _NodeRefused(UnsupportedError):
    """A refusal that names its node."""


@dataclass(frozen=True)
class TensorRTScript:
    """The text of a script; ``weights``: the contents of its ``.npz`` file; ``notes``: one line per difference."""

    text: str
    weights: Mapping[str, Array]
    notes: Sequence[str]


def to_tensorrt_script(
    graph: Graph, name: str, shapes: Mapping[str, TensorType], longest: int | None = None
) -> TensorRTScript:
    """Return a model as a script with ``build(network)``, for inputs of the given types.

    ``longest``: the capacity of scan outputs of loops that only a condition ends; not needed where a bound of the
    iterations is proven.

    Raises:
        UnsupportedError: TensorRT cannot express the model; the text names the node and the rule.
    """
    writer = _NetworkWriter(graph, longest)
    writer.write_model(shapes)
    return TensorRTScript(script_text(name, writer.code), writer.code.weights, writer.notes)


class _NetworkWriter:
    def __init__(self, graph: Graph, capacity: int | None) -> None:
        self.graph = graph
        self.scan_capacity = capacity
        self.code = ScriptCode()
        self.layers = TensorRTLayers(self.code)
        self.origins = ProducerMap.for_graph(graph)
        self.tensors: dict[Value, ScriptTensor] = {}
        self.notes: list[str] = [
            f"the output '{name}' is left out: it needs values of an unsupported type" for name in graph.missing_outputs
        ]
        #: Tensors that are inputs or outputs of the network: they cannot be marked any more.
        self.marked_names: set[str] = set()

    # -- the model

    def write_model(self, shapes: Mapping[str, TensorType]) -> None:
        if self.graph.variables:
            names = ", ".join(variable.name for variable in self.graph.variables)
            raise UnsupportedError(f"it keeps state from run to run ({names}), and a TensorRT network has none")
        for value in self.graph.inputs:
            self._write_input(value, shapes[value.name])
        self.write_nodes(self.graph)
        self.code.add_line()
        for value, name in zip(self.graph.outputs, self._output_names(), strict=True):
            self._mark_output(value, name)

    def _output_names(self) -> Sequence[str]:
        return self.graph.output_names or [value.name for value in self.graph.outputs]

    def _write_input(self, value: Value, kind: TensorType) -> None:
        sizes = value.type.shape if isinstance(value.type, TensorType) else None
        if kind.dtype is None or kind.shape is None:
            raise UnsupportedError(f"input '{value.name}' is {value.type}, and TensorRT has tensors alone")
        shape = tuple(int(n or 0) for n in kind.shape)
        name = self.code.identifier(value.name)
        label = f"input '{value.name}'"
        self.code.add_line(
            f"{name} = network.add_input({string_literal(value.name)}, trt.{self._dtype_name(kind.dtype, label)},"
            f" {shape_literal(shape)})"
        )
        if sizes is not None and any(not isinstance(n, int) for n in sizes):
            self.notes.append(f"{label} has the sizes {list(shape)} in the script; the model leaves them open")
        self.tensors[value] = ScriptTensor(name, shape, kind.dtype)
        self.marked_names.add(name)

    def _dtype_name(self, dtype: np.dtype[Any], label: str) -> str:
        try:
            return dtype_name(dtype)
        except UnsupportedError as error:
            raise UnsupportedError.with_location(label, error) from None

    def _mark_output(self, value: Value, name: str) -> None:
        tensor = self.tensor_of_any_length(value)
        self.layers.result_name = name
        if tensor.array is not None or tensor.code in self.marked_names:
            # A separate tensor: neither inputs nor constants can be marked, and a tensor has one name.
            tensor = self.layers.add_layer("add_identity", (tensor,), tensor.shape, tensor.dtype)
        self.marked_names.add(tensor.code)
        self.code.add_line(f"{tensor.code}.name = {string_literal(name)}")
        self.code.add_line(f"network.mark_output({tensor.code})")

    # -- values and nodes

    def tensor_of(self, value: Value) -> ScriptTensor:
        """Return the script's tensor for a value, for use as an operand.

        Raises:
            UnsupportedError: its length is unknown.
        """
        return _require_known_length(self.tensor_of_any_length(value))

    def tensor_of_any_length(self, value: Value) -> ScriptTensor:
        """Return the tensor, also if its length is unknown."""
        if value not in self.tensors:
            if value.constant is None:
                raise UnsupportedError(f"'{value.name}' is not defined where it is read")
            array = np.asarray(value.constant)
            self.tensors[value] = ScriptTensor(value.name, array.shape, array.dtype, array)
        return self.tensors[value]

    def _scan_capacity(self, loop: Loop) -> int | None:
        """The capacity of a loop's scan outputs: the given one, or what the loop provably runs at most."""
        proven = trip_count_bound(loop, self.origins).maximum
        if proven is None or proven > _MAX_PROVEN_CAPACITY:
            return self.scan_capacity
        return proven if self.scan_capacity is None else min(proven, self.scan_capacity)

    def write_nodes(self, graph: Graph) -> None:
        """Write the nodes of a graph."""
        for node in graph.nodes:
            try:
                if isinstance(node, Loop):
                    rule = termination_rule(node, self.origins)
                    ILoopWriter(self, self.code, self.layers, node, rule, self._scan_capacity(node)).write()
                elif isinstance(node, If):
                    self._write_if(node)
                elif isinstance(node, Operation):
                    self._write_operation(node)
            except _NodeRefused:
                raise
            except NoNativeKernel:
                raise _NodeRefused(f"{node.describe()}: {_NO_LAYER_TEXT}") from None
            except UnsupportedError as error:
                raise _NodeRefused.with_location(node.describe(), error) from None

    def _write_operation(self, node: Operation) -> None:
        op = resolve(node, self.graph.system)
        read = self.tensor_of_any_length if node.op_type in _LENGTH_PRESERVING else self.tensor_of
        args = [None if value is None else read(value) for value in node.inputs]
        if op.random:
            raise UnsupportedError("what TensorRT draws at random is drawn otherwise")
        is_constant = all(x is None or x.array is not None for x in args)
        outputs = [value for value in node.outputs if value is not None]
        if not op.native and not (is_constant and op.pure):
            raise UnsupportedError(_NO_LAYER_TEXT)
        first_line = len(self.code.lines)
        self._write_comment(node)
        line_count = len(self.code.lines)
        self.layers.result_name = outputs[0].name if outputs else node.name
        primitives: Any = self.layers
        if not op.native:
            primitives, args = EagerPrimitives(), [None if x is None else x.array for x in args]  # type: ignore[misc]
        try:
            results = op.apply(primitives, args)
        except (UnsupportedError, NoNativeKernel):
            raise
        except (LoopdbgError, ValueError, IndexError) as error:  # the node itself is wrong
            raise UnsupportedError(one_line(error)) from None
        except (TypeError, AttributeError):  # it computes on arrays, and there is none
            raise NoNativeKernel from None
        if len(self.code.lines) == line_count:  # the result follows from shapes and constants
            del self.code.lines[first_line:]
        for value, result in zip(node.outputs, results, strict=False):
            if value is not None:
                tensor = result if isinstance(result, ScriptTensor) else self._constant_tensor(result)
                self.tensors[value] = tensor

    def _constant_tensor(self, result: Any) -> ScriptTensor:
        if not isinstance(result, np.ndarray):
            raise UnsupportedError("TensorRT has no sequences and no optionals")
        return self.layers.constant_tensor(result)

    def _write_comment(self, node: Node) -> None:
        inputs = ", ".join("-" if value is None else value.name for value in node.inputs)
        outputs = ", ".join(value.name for value in node.outputs if value is not None)
        self.code.add_line()
        self.code.add_comment(f"{outputs} = {node.op_type}({inputs})")

    # -- conditionals

    def _write_if(self, node: If) -> None:
        condition = self.tensor_of(_require_condition(node.inputs[0]))
        if condition.array is not None:
            branch = node.then_branch if condition.array.reshape(-1)[0] else node.else_branch
            self.write_nodes(branch)
            self.tensors.update(
                (out, self.tensor_of(v)) for out, v in zip(node.outputs, branch.outputs, strict=True) if out
            )
            return
        self._write_comment(node)
        layer = self.code.identifier(node.name or "conditional")
        self.code.add_line(f"{layer} = network.add_if_conditional()")
        self.code.add_line(f"{layer}.name = {string_literal(node.name)}")
        self.layers.result_name = f"{node.name}_condition"
        self.code.add_line(f"{layer}.set_condition({self.layers.tensor_name(self.layers.reshape(condition, ()))})")
        branches = [self._write_branch(branch, layer) for branch in (node.then_branch, node.else_branch)]
        for k, (out, a, b) in enumerate(zip(node.outputs, *branches, strict=True)):
            if out is None:
                continue
            if a.shape != b.shape or a.dtype != b.dtype:
                raise UnsupportedError(
                    f"output {k} is {a.dtype}{list(a.shape)} in one branch and {b.dtype}{list(b.shape)} in the"
                    " other, and TensorRT's conditionals give one shape and type"
                )
            name = self.code.identifier(out.name)
            tensors = f"{self.layers.tensor_name(a)}, {self.layers.tensor_name(b)}"
            self.code.add_line(f"{name} = named({layer}.add_output({tensors}), {string_literal(out.name)})")
            self.tensors[out] = ScriptTensor(name, a.shape, a.dtype, loops=a.loops | b.loops | condition.loops)

    def _write_branch(self, branch: Graph, layer: str) -> list[ScriptTensor]:
        """Write a branch and return its results. Outer values are read through input layers and restored afterwards."""
        self.code.add_comment(f"branch '{branch.name}'" if branch.name else "a branch")
        saved, constants = dict(self.tensors), self.layers.constants
        for value in captured_values(branch):
            outer = self.tensor_of(value)
            if outer.array is None:
                name = self.code.identifier(f"{value.name}_in")
                self.code.add_line(f"{name} = {layer}.add_input({outer.code}).get_output(0)")
                self.tensors[value] = replace(outer, code=name)
        self.write_nodes(branch)
        results = [self.tensor_of(value) for value in branch.outputs]
        for result in results:
            self.layers.tensor_name(result)
        self.tensors = saved
        self.layers.restore_constants(constants)
        return results


def _require_condition(value: Value | None) -> Value:
    if value is None:
        raise UnsupportedError("it has no condition")
    return value


def _require_known_length(x: ScriptTensor) -> ScriptTensor:
    if x.is_padded:
        raise UnsupportedError(
            f"it reads {x.code}, whose length only the end of its loop tells; in TensorRT it is padded to a length"
        )
    if any(size < 0 for size in x.shape):
        raise UnsupportedError(
            f"{x.code} has a size that is known only at run time, and a TensorRT script needs all sizes in advance"
        )
    return x
