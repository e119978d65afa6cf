"""A model as TensorRT network code: its loops by ILoop, its Ifs by IIfConditional, all else by
:class:`.primitive_layers.TensorRTLayers`.

What TensorRT cannot say is refused with the reason (docs/semantics.md 8); what it says otherwise stands in a comment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.errors import LoopdbgError, UnsupportedError, one_line
from ...runtime.graph import (
    Array,
    Graph,
    If,
    Loop,
    Node,
    Operation,
    TensorType,
    Value,
    captured_values,
)
from ...runtime.graph.producers import ProducerMap
from ...runtime.ops.eager import EagerPrimitives
from ...runtime.ops.primitives import NoNativeKernel
from ...runtime.ops.registry import resolve
from ..describe.termination import termination_rule
from .loop_writer import ILoopWriter
from .primitive_layers import ScriptTensor, TensorRTLayers, dtype_name
from .script_code import ScriptCode, shape_literal, string_literal
from .script_template import script_text

#: Operators that leave a tensor's length, and its zeros: what is padded may be read by them.
_LENGTH_PRESERVING = frozenset({"Identity", "Cast", "Convert"})
_NO_LAYER_TEXT = "no TensorRT layer is known to do this"


class _NodeRefused(UnsupportedError):
    """A refusal that names its node."""


@dataclass(frozen=True)
class TensorRTScript:
    """The text of a script; ``weights``: what the ``.npz`` beside it holds; ``notes``: what differs, one line each."""

    text: str
    weights: Mapping[str, Array]
    notes: Sequence[str]


def to_tensorrt(
    graph: Graph, name: str, shapes: Mapping[str, TensorType], longest: int | None = None
) -> TensorRTScript:
    """A model as the text of a script with ``build(network)``, for inputs of the given types.

    ``longest``: the capacity of scan outputs of loops that only a condition ends.

    Raises:
        UnsupportedError: TensorRT cannot say it; the text names the node and the rule.
    """
    writer = _NetworkWriter(graph, longest)
    writer.write_model(shapes)
    return TensorRTScript(script_text(name, writer.code), writer.code.weights, writer.notes)


class _NetworkWriter:
    def __init__(self, graph: Graph, longest: int | None) -> None:
        self.graph = graph
        self.scan_capacity = longest
        self.code = ScriptCode()
        self.layers = TensorRTLayers(self.code)
        self.origins = ProducerMap.for_graph(graph)
        self.tensors: dict[Value, ScriptTensor] = {}
        self.notes: list[str] = [
            f"the output '{name}' is left out: it needs values of an unsupported type" for name in graph.missing_outputs
        ]
        #: Tensors that are inputs or outputs of the network: they cannot be marked any more.
        self.marked_names: set[str] = set()

    # -- the whole

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

    def _write_input(self, value: Value, found: TensorType) -> None:
        declared = value.type.shape if isinstance(value.type, TensorType) else None
        if found.dtype is None or found.shape is None:
            raise UnsupportedError(f"input '{value.name}' is {value.type}, and TensorRT has tensors alone")
        shape = tuple(int(n or 0) for n in found.shape)
        name = self.code.identifier(value.name)
        at = f"input '{value.name}'"
        self.code.add_line(
            f"{name} = network.add_input({string_literal(value.name)}, trt.{self._dtype_name(found.dtype, at)},"
            f" {shape_literal(shape)})"
        )
        if declared is not None and any(not isinstance(n, int) for n in declared):
            self.notes.append(f"{at} has the sizes {list(shape)} in the script; the model leaves them open")
        self.tensors[value] = ScriptTensor(name, shape, found.dtype)
        self.marked_names.add(name)

    def _dtype_name(self, dtype: np.dtype[Any], where: str) -> str:
        try:
            return dtype_name(dtype)
        except UnsupportedError as error:
            raise UnsupportedError(f"{where}: {error}") from None

    def _mark_output(self, value: Value, name: str) -> None:
        found = self.tensor_of_any_length(value)
        self.layers.result_name = name
        if found.array is not None or found.code in self.marked_names:
            # An output of its own: neither inputs nor constants can be marked, and a tensor has one name.
            found = self.layers.add_layer("add_identity", (found,), found.shape, found.dtype)
        self.marked_names.add(found.code)
        self.code.add_line(f"{found.code}.name = {string_literal(name)}")
        self.code.add_line(f"network.mark_output({found.code})")

    # -- values and nodes

    def tensor_of(self, value: Value) -> ScriptTensor:
        """A value as it is in the script, to be computed with.

        Raises:
            UnsupportedError: its length is not known.
        """
        return _require_known_length(self.tensor_of_any_length(value))

    def tensor_of_any_length(self, value: Value) -> ScriptTensor:
        """The same, of any length."""
        if value not in self.tensors:
            if value.constant is None:
                raise UnsupportedError(f"'{value.name}' is not defined where it is read")
            array = np.asarray(value.constant)
            self.tensors[value] = ScriptTensor(value.name, array.shape, array.dtype, array)
        return self.tensors[value]

    def write_nodes(self, graph: Graph) -> None:
        """The nodes of a graph."""
        for node in graph.nodes:
            try:
                if isinstance(node, Loop):
                    ILoopWriter(
                        self, self.code, self.layers, node, termination_rule(node, self.origins), self.scan_capacity
                    ).write()
                elif isinstance(node, If):
                    self._write_if(node)
                elif isinstance(node, Operation):
                    self._write_operation(node)
            except _NodeRefused:
                raise
            except NoNativeKernel:
                raise _NodeRefused(f"{node.describe()}: {_NO_LAYER_TEXT}") from None
            except UnsupportedError as error:
                raise _NodeRefused.at(node.describe(), error) from None

    def _write_operation(self, node: Operation) -> None:
        op = resolve(node, self.graph.system)
        read = self.tensor_of_any_length if node.op_type in _LENGTH_PRESERVING else self.tensor_of
        given = [None if value is None else read(value) for value in node.inputs]
        if op.random:
            raise UnsupportedError("what TensorRT draws at random is drawn otherwise")
        known = all(x is None or x.array is not None for x in given)
        outputs = [value for value in node.outputs if value is not None]
        if not op.native and not (known and op.pure):
            raise UnsupportedError(_NO_LAYER_TEXT)
        before = len(self.code.lines)
        self._write_comment(node)
        written = len(self.code.lines)
        self.layers.result_name = outputs[0].name if outputs else node.name
        primitives: Any = self.layers
        if not op.native:
            primitives, given = EagerPrimitives(), [None if x is None else x.array for x in given]  # type: ignore[misc]
        try:
            results = op.apply(primitives, given)
        except (UnsupportedError, NoNativeKernel):
            raise
        except (LoopdbgError, ValueError, IndexError) as error:  # the node itself is wrong
            raise UnsupportedError(one_line(error)) from None
        except (TypeError, AttributeError):  # it is computed on arrays, and there is none
            raise NoNativeKernel from None
        if len(self.code.lines) == written:  # all of it is known from shapes and constants
            del self.code.lines[before:]
        for value, result in zip(node.outputs, results, strict=False):
            if value is not None:
                found = result if isinstance(result, ScriptTensor) else self._constant_tensor(result)
                self.tensors[value] = found

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
            taken = node.then_branch if condition.array.reshape(-1)[0] else node.else_branch
            self.write_nodes(taken)
            self.tensors.update(
                (out, self.tensor_of(v)) for out, v in zip(node.outputs, taken.outputs, strict=True) if out
            )
            return
        self._write_comment(node)
        chosen = self.code.identifier(node.name or "conditional")
        self.code.add_line(f"{chosen} = network.add_if_conditional()")
        self.code.add_line(f"{chosen}.name = {string_literal(node.name)}")
        self.layers.result_name = f"{node.name}_condition"
        self.code.add_line(f"{chosen}.set_condition({self.layers.tensor_name(self.layers.reshape(condition, ()))})")
        branches = [self._write_branch(branch, chosen) for branch in (node.then_branch, node.else_branch)]
        for k, (out, yes, no) in enumerate(zip(node.outputs, *branches, strict=True)):
            if out is None:
                continue
            if yes.shape != no.shape or yes.dtype != no.dtype:
                raise UnsupportedError(
                    f"output {k} is {yes.dtype}{list(yes.shape)} in one branch and {no.dtype}{list(no.shape)} in the"
                    " other, and TensorRT's conditionals give one shape and type"
                )
            name = self.code.identifier(out.name)
            told = f"{self.layers.tensor_name(yes)}, {self.layers.tensor_name(no)}"
            self.code.add_line(f"{name} = named({chosen}.add_output({told}), {string_literal(out.name)})")
            self.tensors[out] = ScriptTensor(name, yes.shape, yes.dtype, loops=yes.loops | no.loops | condition.loops)

    def _write_branch(self, branch: Graph, chosen: str) -> list[ScriptTensor]:
        """A branch's results. What it reads from outside comes by input layers, and is the same again afterwards."""
        self.code.add_comment(f"branch '{branch.name}'" if branch.name else "a branch")
        before, constants = dict(self.tensors), self.layers.constants
        for value in captured_values(branch):
            outer = self.tensor_of(value)
            if outer.array is None:
                name = self.code.identifier(f"{value.name}_in")
                self.code.add_line(f"{name} = {chosen}.add_input({outer.code}).get_output(0)")
                self.tensors[value] = replace(outer, code=name)
        self.write_nodes(branch)
        results = [self.tensor_of(value) for value in branch.outputs]
        for result in results:
            self.layers.tensor_name(result)
        self.tensors = before
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
