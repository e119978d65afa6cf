"""A model as TensorRT network code: its loops by ILoop, its Ifs by IIfConditional, all else by :class:`.layers.Layers`.

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
    captured,
)
from ...runtime.graph.origins import Origins
from ...runtime.ops.eager import Eager
from ...runtime.ops.primitives import NotNative
from ...runtime.ops.registry import resolve
from ..words.endings import ending
from .code import Code, dims, text
from .layers import Layers, Tensor, kind
from .loops import LoopWriter
from .script import script

#: Operators that leave a tensor's length, and its zeros: what is padded may be read by them.
_AS_LONG = frozenset({"Identity", "Cast", "Convert"})
_UNKNOWN = "no TensorRT layer is known to do this"


class _Refused(UnsupportedError):
    """A refusal that names its node."""


@dataclass(frozen=True)
class Script:
    """The text of a script; ``weights``: what the ``.npz`` beside it holds; ``notes``: what differs, one line each."""

    text: str
    weights: Mapping[str, Array]
    notes: Sequence[str]


def to_tensorrt(graph: Graph, name: str, shapes: Mapping[str, TensorType], longest: int | None = None) -> Script:
    """A model as the text of a script with ``build(network)``, for inputs of the given types.

    ``longest``: the capacity of scan outputs of loops that only a condition ends.

    Raises:
        UnsupportedError: TensorRT cannot say it; the text names the node and the rule.
    """
    writer = _Writer(graph, longest)
    writer.model(shapes)
    return Script(script(name, writer.code), writer.code.weights, writer.notes)


class _Writer:
    def __init__(self, graph: Graph, longest: int | None) -> None:
        self.graph = graph
        self.longest = longest
        self.code = Code()
        self.layers = Layers(self.code)
        self.origins = Origins.of(graph)
        self.tensors: dict[Value, Tensor] = {}
        self.notes: list[str] = [
            f"the output '{name}' is left out: it needs values of an unsupported type" for name in graph.not_computed
        ]
        #: Tensors that are inputs or outputs of the network: they cannot be marked any more.
        self.marked: set[str] = set()

    # -- the whole

    def model(self, shapes: Mapping[str, TensorType]) -> None:
        if self.graph.variables:
            names = ", ".join(variable.name for variable in self.graph.variables)
            raise UnsupportedError(f"it keeps state from run to run ({names}), and a TensorRT network has none")
        for value in self.graph.inputs:
            self._input(value, shapes[value.name])
        self.body(self.graph)
        self.code.line()
        for value, name in zip(self.graph.outputs, self._output_names(), strict=True):
            self._mark(value, name)

    def _output_names(self) -> Sequence[str]:
        return self.graph.output_names or [value.name for value in self.graph.outputs]

    def _input(self, value: Value, found: TensorType) -> None:
        declared = value.type.shape if isinstance(value.type, TensorType) else None
        if found.dtype is None or found.shape is None:
            raise UnsupportedError(f"input '{value.name}' is {value.type}, and TensorRT has tensors alone")
        shape = tuple(int(n or 0) for n in found.shape)
        name = self.code.identifier(value.name)
        at = f"input '{value.name}'"
        self.code.line(
            f"{name} = network.add_input({text(value.name)}, trt.{self._kind(found.dtype, at)}, {dims(shape)})"
        )
        if declared is not None and any(not isinstance(n, int) for n in declared):
            self.notes.append(f"{at} has the sizes {list(shape)} in the script; the model leaves them open")
        self.tensors[value] = Tensor(name, shape, found.dtype)
        self.marked.add(name)

    def _kind(self, dtype: np.dtype[Any], where: str) -> str:
        try:
            return kind(dtype)
        except UnsupportedError as error:
            raise UnsupportedError(f"{where}: {error}") from None

    def _mark(self, value: Value, name: str) -> None:
        found = self.any_tensor(value)
        self.layers.hint = name
        if found.array is not None or found.code in self.marked:
            # An output of its own: neither inputs nor constants can be marked, and a tensor has one name.
            found = self.layers.layer("add_identity", (found,), found.shape, found.dtype)
        self.marked.add(found.code)
        self.code.line(f"{found.code}.name = {text(name)}")
        self.code.line(f"network.mark_output({found.code})")

    # -- values and nodes

    def tensor(self, value: Value) -> Tensor:
        """A value as it is in the script, to be computed with.

        Raises:
            UnsupportedError: its length is not known.
        """
        return _sized(self.any_tensor(value))

    def any_tensor(self, value: Value) -> Tensor:
        """The same, of any length."""
        if value not in self.tensors:
            if value.constant is None:
                raise UnsupportedError(f"'{value.name}' is not defined where it is read")
            array = np.asarray(value.constant)
            self.tensors[value] = Tensor(value.name, array.shape, array.dtype, array)
        return self.tensors[value]

    def body(self, graph: Graph) -> None:
        """The nodes of a graph."""
        for node in graph.nodes:
            try:
                if isinstance(node, Loop):
                    LoopWriter(self, self.code, self.layers, node, ending(node, self.origins), self.longest).write()
                elif isinstance(node, If):
                    self._if(node)
                elif isinstance(node, Operation):
                    self._operation(node)
            except _Refused:
                raise
            except NotNative:
                raise _Refused(f"{node.describe()}: {_UNKNOWN}") from None
            except UnsupportedError as error:
                raise _Refused.at(node.describe(), error) from None

    def _operation(self, node: Operation) -> None:
        op = resolve(node, self.graph.system)
        read = self.any_tensor if node.op_type in _AS_LONG else self.tensor
        given = [None if value is None else read(value) for value in node.inputs]
        if op.random:
            raise UnsupportedError("what TensorRT draws at random is drawn otherwise")
        known = all(x is None or x.array is not None for x in given)
        outputs = [value for value in node.outputs if value is not None]
        if not op.native and not (known and op.pure):
            raise UnsupportedError(_UNKNOWN)
        before = len(self.code.lines)
        self._comment(node)
        written = len(self.code.lines)
        self.layers.hint = outputs[0].name if outputs else node.name
        primitives: Any = self.layers
        if not op.native:
            primitives, given = Eager(), [None if x is None else x.array for x in given]  # type: ignore[misc]
        try:
            results = op.apply(primitives, given)
        except (UnsupportedError, NotNative):
            raise
        except (LoopdbgError, ValueError, IndexError) as error:  # the node itself is wrong
            raise UnsupportedError(one_line(error)) from None
        except (TypeError, AttributeError):  # it is computed on arrays, and there is none
            raise NotNative from None
        if len(self.code.lines) == written:  # all of it is known from shapes and constants
            del self.code.lines[before:]
        for value, result in zip(node.outputs, results, strict=False):
            if value is not None:
                found = result if isinstance(result, Tensor) else self._computed(result)
                self.tensors[value] = found

    def _computed(self, result: Any) -> Tensor:
        if not isinstance(result, np.ndarray):
            raise UnsupportedError("TensorRT has no sequences and no optionals")
        return self.layers.made(result)

    def _comment(self, node: Node) -> None:
        inputs = ", ".join("-" if value is None else value.name for value in node.inputs)
        outputs = ", ".join(value.name for value in node.outputs if value is not None)
        self.code.line()
        self.code.comment(f"{outputs} = {node.op_type}({inputs})")

    # -- conditionals

    def _if(self, node: If) -> None:
        condition = self.tensor(_given(node.inputs[0]))
        if condition.array is not None:
            taken = node.then_branch if condition.array.reshape(-1)[0] else node.else_branch
            self.body(taken)
            self.tensors.update(
                (out, self.tensor(v)) for out, v in zip(node.outputs, taken.outputs, strict=True) if out
            )
            return
        self._comment(node)
        chosen = self.code.identifier(node.name or "conditional")
        self.code.line(f"{chosen} = network.add_if_conditional()")
        self.code.line(f"{chosen}.name = {text(node.name)}")
        self.layers.hint = f"{node.name}_condition"
        self.code.line(f"{chosen}.set_condition({self.layers.name(self.layers.reshape(condition, ()))})")
        branches = [self._branch(branch, chosen) for branch in (node.then_branch, node.else_branch)]
        for k, (out, yes, no) in enumerate(zip(node.outputs, *branches, strict=True)):
            if out is None:
                continue
            if yes.shape != no.shape or yes.dtype != no.dtype:
                raise UnsupportedError(
                    f"output {k} is {yes.dtype}{list(yes.shape)} in one branch and {no.dtype}{list(no.shape)} in the"
                    " other, and TensorRT's conditionals give one shape and type"
                )
            name = self.code.identifier(out.name)
            told = f"{self.layers.name(yes)}, {self.layers.name(no)}"
            self.code.line(f"{name} = named({chosen}.add_output({told}), {text(out.name)})")
            self.tensors[out] = Tensor(name, yes.shape, yes.dtype, loops=yes.loops | no.loops | condition.loops)

    def _branch(self, branch: Graph, chosen: str) -> list[Tensor]:
        """A branch's results. What it reads from outside comes by input layers, and is the same again afterwards."""
        self.code.comment(f"branch '{branch.name}'" if branch.name else "a branch")
        before, constants = dict(self.tensors), self.layers.constants
        for value in captured(branch):
            outer = self.tensor(value)
            if outer.array is None:
                name = self.code.identifier(f"{value.name}_in")
                self.code.line(f"{name} = {chosen}.add_input({outer.code}).get_output(0)")
                self.tensors[value] = replace(outer, code=name)
        self.body(branch)
        results = [self.tensor(value) for value in branch.outputs]
        for result in results:
            self.layers.name(result)
        self.tensors = before
        self.layers.forget(constants)
        return results


def _given(value: Value | None) -> Value:
    if value is None:
        raise UnsupportedError("it has no condition")
    return value


def _sized(x: Tensor) -> Tensor:
    if x.roomy:
        raise UnsupportedError(
            f"it reads {x.code}, whose length only the end of its loop tells; in TensorRT it is padded to a length"
        )
    if any(size < 0 for size in x.shape):
        raise UnsupportedError(
            f"{x.code} has a size that is known only at run time, and a TensorRT script needs all sizes in advance"
        )
    return x
