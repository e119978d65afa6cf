"""An ONNX model as a document that is cut: names and attributes stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import onnx
import onnx.checker
import onnx.helper
import onnx.inliner
import onnx.numpy_helper
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from ...runtime.frontends.onnx.model_file import (
    OnnxModel,
    is_external,
    read_model,
    tensors,
    without_external_data,
    write_model,
)
from ...runtime.frontends.onnx.reader import from_proto
from ...runtime.model import Data, Model
from . import onnx_inside, onnx_loops
from .document import Step, Where
from .model_text import model_text
from .names import all_names, free_of_node, fresh
from .onnx_graph import drop_dead, graphs, info, inner_graphs, keep, key_of, tensor

LOOPS = ("Loop", "Scan")


class OnnxDocument:
    """An ONNX model in memory; the data of a large one stay in files."""

    def __init__(self, model: OnnxModel, checked: bool | None = None) -> None:
        self.proto = model.proto
        self._model = model
        #: ONNX's own checker takes it: what is cut out of it has to be a model as well.
        self._checked = _is_valid(self.proto) if checked is None else checked

    @classmethod
    def read(cls, path: Path) -> OnnxDocument:
        """The model of a file.

        Raises:
            ModelError: it cannot be read.
        """
        return cls(read_model(path))

    def copy(self) -> OnnxDocument:
        proto = ModelProto()
        proto.CopyFrom(self.proto)
        return OnnxDocument(OnnxModel(proto, self._model.folder, self._model.scratch), self._checked)

    @property
    def graph(self) -> GraphProto:
        """The main graph."""
        return self.proto.graph

    @property
    def inputs(self) -> list[str]:
        constants = {one.name for one in self.graph.initializer}
        return [one.name for one in self.graph.input if one.name not in constants]

    @property
    def outputs(self) -> list[str]:
        return [one.name for one in self.graph.output]

    def steps(self) -> list[Step]:
        return [_step(node) for node in self.graph.node]

    def inner_steps(self) -> list[Step]:
        found: list[Step] = []
        _collect(self.graph, (), found)
        return found

    def model(self) -> Model:
        return Model(from_proto(self.proto, "the cut model", self._model.folder))

    def is_valid(self) -> bool:
        return not self._checked or _is_valid(self.proto)

    def save(self, folder: Path, stem: str) -> Path:
        path = folder / f"{stem}.onnx"
        write_model(self._model, path)
        return path

    def text(self) -> str:
        return model_text(self.proto)

    def mark(self) -> bytes:
        return bytes(self.proto.SerializeToString(deterministic=True))

    # -- the main graph

    def freeze(self, values: Mapping[str, Data]) -> None:
        graph, taken = self.graph, all_names(self.graph)
        frozen = {name for node in graph.node for name in node.output if name in values}
        nodes = [node for node in graph.node if not all(name in frozen for name in node.output if name)]
        keep(graph.node, nodes)
        for node in graph.node:
            # What else the node gives is still needed.
            node.output[:] = [fresh(f"{name}_unread", taken) if name in frozen else name for name in node.output]
        graph.input.extend(info(name, values[name]) for name in values if name in frozen)
        keep(graph.output, [one for one in graph.output if one.name not in frozen])

    def show(self, values: Mapping[str, Data | None]) -> None:
        old = {one.name: one for one in self.graph.output}
        keep(self.graph.output, [old.get(name) or info(name, data, False) for name, data in values.items()])

    def clean(self) -> None:
        graph = self.graph
        drop_dead(graph)
        used = {name for node in graph.node for name in free_of_node(node)} | set(self.outputs)
        keep(graph.input, [one for one in graph.input if one.name in used])

    # -- loops

    def loops(self) -> list[Step]:
        return [_step(node) for node in self.graph.node if node.op_type in LOOPS]

    def initials(self, key: str) -> list[str]:
        return onnx_loops.initials(self.node(key))

    def finals(self, key: str) -> list[str]:
        return onnx_loops.finals(self.node(key), all_names(self.graph))

    def limit(self, key: str, where: Where, count: int, values: Mapping[str, Data]) -> dict[str, Data] | None:
        return onnx_loops.limit(self.graph, self.inside(where), self.node(key, where), count, values)

    def begin(self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]) -> dict[str, Data] | None:
        return onnx_loops.begin(self.graph, self.node(key), at, state, values)

    def peel(self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]) -> dict[str, Data] | None:
        return onnx_loops.peel(self.graph, self.node(key), at, state, values)

    def branches(self) -> list[Step]:
        return [_step(node) for node in self.graph.node if node.op_type == "If"]

    def take(self, key: str, values: Mapping[str, Data]) -> bool:
        return onnx_loops.take(self.graph, self.node(key), values)

    # -- inner graphs

    def settle(self, step: Step, value: Data) -> bool:
        return onnx_inside.settle(self.inside(step.where), self.node(step.key, step.where), value)

    def bypass(self, step: Step, source: str) -> bool:
        return onnx_inside.bypass(self.inside(step.where), self.node(step.key, step.where), source)

    def carried(self) -> list[tuple[Step, int]]:
        every = [*self.steps(), *self.inner_steps()]
        found = [(step, self.node(step.key, step.where)) for step in every if step.op_type in LOOPS]
        return [(step, k) for step, node in found for k in range(len(onnx_loops.initials(node)))]

    def uncarry(self, step: Step, which: int) -> bool:
        return onnx_inside.uncarry(self.node(step.key, step.where), which)

    def unread(self) -> list[tuple[Step, int]]:
        every = [*self.steps(), *self.inner_steps()]
        found = [(step, self.node(step.key, step.where)) for step in every if step.op_type in LOOPS]
        return [(step, k) for step, node in found for k in onnx_inside.unread(self.inside(step.where), node)]

    def drop(self, step: Step, which: Sequence[int]) -> bool:
        node = self.node(step.key, step.where)
        onnx_inside.drop(node, which)
        return True

    # -- data

    def constants(self) -> dict[str, Data]:
        return {name: onnx.numpy_helper.to_array(one) for name, one in self._tensors().items()}

    def set_constants(self, values: Mapping[str, Data]) -> None:
        found = self._tensors()
        for name, data in values.items():
            if name in found:
                found[name].CopyFrom(tensor(found[name].name, data))

    def fit_inputs(self, inputs: Mapping[str, Data]) -> None:
        for one in self.graph.input:
            if one.name in inputs:
                one.CopyFrom(info(one.name, inputs[one.name]))
        onnx_inside.forget_shapes(self.graph)

    def tidy(self) -> list[Callable[[], None]]:
        return [self._inlined, self._untold, self._unnamed]

    def _inlined(self) -> None:
        """Functions are written out where they are called."""
        if self.proto.functions:
            self.proto.CopyFrom(onnx.inliner.inline_local_functions(self.proto))

    def _untold(self) -> None:
        """Neither documentation nor metadata."""
        del self.proto.metadata_props[:]
        for field in ("producer_name", "producer_version", "doc_string"):
            self.proto.ClearField(field)
        for graph in graphs(self.graph):
            del graph.value_info[:], graph.quantization_annotation[:], graph.metadata_props[:]
            graph.ClearField("doc_string")
            for one in (*graph.node, *graph.input, *graph.output, *graph.initializer):
                one.ClearField("doc_string")
                if hasattr(one, "metadata_props"):
                    del one.metadata_props[:]

    def _unnamed(self) -> None:
        """No operator sets that nothing needs."""
        used = {node.domain for graph in graphs(self.graph) for node in graph.node}
        used |= {node.domain for function in self.proto.functions for node in function.node} | {""}
        keep(self.proto.opset_import, [one for one in self.proto.opset_import if one.domain in used])

    # -- for the modules that know loops and bodies

    def inside(self, where: Where) -> GraphProto:
        """An inner graph."""
        graph = self.graph
        for key, word in where:
            graph = next(inner for name, inner in inner_graphs(_node(graph, key)) if name == word)
        return graph

    def node(self, key: str, where: Where = ()) -> NodeProto:
        """A node by its key."""
        return _node(self.inside(where), key)

    def _tensors(self) -> dict[str, TensorProto]:
        """Initializers and the values of Constant nodes, by what they are called; one name may stand in two graphs.
        Without those of a large model whose data stay in files."""
        found: dict[str, TensorProto] = {}
        for k, graph in enumerate(graphs(self.graph)):
            every = [(one.name, one) for one in graph.initializer]
            for node in graph.node:
                if node.op_type == "Constant" and not node.domain:
                    every += [(node.output[0], one.t) for one in node.attribute if one.name == "value"]
            for name, one in every:
                if not is_external(one):
                    found[name if name not in found else f"{name} {k}"] = one
        return found


def _is_valid(proto: ModelProto) -> bool:
    try:
        onnx.checker.check_model(without_external_data(proto) if any(map(is_external, tensors(proto))) else proto)
    except Exception:  # of protobuf too, where it is too large
        return False
    return True


def _step(node: NodeProto, where: Where = ()) -> Step:
    return Step(
        key_of(node), node.name, node.op_type, tuple(free_of_node(node)), tuple(filter(None, node.output)), where
    )


def _node(graph: GraphProto, key: str) -> NodeProto:
    found: NodeProto | None = next((node for node in graph.node if key_of(node) == key), None)
    if found is None:
        raise KeyError(key)
    return found


def _collect(graph: GraphProto, where: Where, found: list[Step]) -> None:
    for node in graph.node:
        for word, inner in inner_graphs(node):
            around = (*where, (key_of(node), word))
            found += [_step(one, around) for one in inner.node]
            _collect(inner, around, found)
