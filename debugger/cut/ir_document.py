"""An OpenVINO IR as a document that is cut: layers and their attributes stay as they are, and so do names."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from ...runtime import dtypes
from ...runtime.atomic_file import scratch_folder, write_bytes
from ...runtime.errors import ModelError, UnsupportedError, one_line
from ...runtime.model import Data, Model, load
from ...runtime.text import printable_lines
from . import ir_loops, ir_variables
from .document import Step, Where
from .ir_net import CONSTANTS, LOOPS, Element, Net, back_edges, inner_nets, nets, outputs, part

#: Where a constant has its bytes in the pool; no attribute of the format.
_POOLED = "pooled"
#: What no reader needs.
_UNREAD = ("rt_info", "meta_data", "quantization_parameters", "statistics")


class IrDocument:
    """An IR in memory, weights included. Every value has one name, which its tensor has."""

    def __init__(self, root: Element, pool: list[bytes]) -> None:
        self.root = root
        #: The bytes of constants; copies share them, and only add to them.
        self.pool = pool

    @classmethod
    def read(cls, path: Path, weights: Path | None = None) -> IrDocument:
        """The model of a file.

        Raises:
            ModelError: it cannot be read.
        """
        try:
            root = etree.parse(str(path), etree.XMLParser(remove_comments=True, remove_blank_text=True)).getroot()
            beside = path.with_suffix(".bin") if weights is None else weights
            blob = beside.read_bytes() if beside.exists() else b""
        except (OSError, etree.XMLSyntaxError) as error:
            raise ModelError(f"{path}: cannot be cut: {one_line(error)}") from None
        found = cls(root, [])
        found._take(blob)
        model = load(path, weights)
        _name(found.net, [port.name for port in model.inputs], [port.name for port in model.outputs])
        root.set("version", "11")
        return found

    def copy(self) -> IrDocument:
        return IrDocument(copy.deepcopy(self.root), self.pool)

    @property
    def net(self) -> Net:
        """The main graph."""
        return Net(self.root)

    @property
    def inputs(self) -> list[str]:
        return [outputs(one)[0].get("names") for one in self.net.of_kind("Parameter")]

    @property
    def outputs(self) -> list[str]:
        return [one.get("output_names") for one in self.net.of_kind("Result")]

    def steps(self) -> list[Step]:
        return [_step(self.net, one, ()) for one in _nodes(self.net)]

    def inner_steps(self) -> list[Step]:
        found: list[Step] = []
        _collect(self.net, (), found)
        return found

    def model(self) -> Model:
        with scratch_folder() as folder:
            return load(self.save(folder, "cut"))

    def is_valid(self) -> bool:
        return True

    def save(self, folder: Path, stem: str) -> Path:
        root, blob = copy.deepcopy(self.root), bytearray()
        for layer in _constants(Net(root)):
            data = self.pool[int(layer.attrib.pop(_POOLED))]
            # The same bytes once, and each where its type wants it.
            at = blob.find(data)
            while at % 8 and at >= 0:
                at = blob.find(data, at + 1)
            if at < 0:
                blob += bytes(-len(blob) % 8)
                at = len(blob)
                blob += data
            layer.find("data").set("offset", str(at))
            layer.find("data").set("size", str(len(data)))
        path = folder / f"{stem}.xml"
        for layer in root.iter("layer", "edges"):
            layer.tail = "\n"  # a layer a line: small, and can be read all the same
        write_bytes(path, b'<?xml version="1.0"?>\n' + etree.tostring(root))
        write_bytes(path.with_suffix(".bin"), blob)
        return path

    def text(self) -> str:
        return printable_lines(_lines(self, self.net, ""))

    def mark(self) -> bytes:
        held = [self.pool[int(layer.get(_POOLED))] for layer in _constants(self.net)]
        return b"\0".join([bytes(etree.tostring(self.root)), *held])

    # -- the main graph

    def freeze(self, values: Mapping[str, Data]) -> None:
        net = self.net
        made = {name: port for port, name in net.names().items() if name in values}
        for name, port in made.items():
            layer = net.layer(port[0])
            if layer.get("type") in ("Parameter", *CONSTANTS):
                continue
            next(one for one in outputs(layer) if one.get("id") == port[1]).attrib.pop("names")
            new = ir_loops.parameter(net, name, values[name])
            net.redirect(port, new)
        for result in net.of_kind("Result"):
            if result.get("output_names") in made:
                net.remove(result)

    def show(self, values: Mapping[str, Data | None]) -> None:
        net = self.net
        for result in net.of_kind("Result"):
            net.remove(result)
        for name in values:
            result = net.add("Result", f"{name}/sink")
            result.set("output_names", name.replace(",", "\\,"))
            etree.SubElement(part(result, "input"), "port", id="0")
            net.connect(net.port_of(name), (result.get("id"), "0"))

    def clean(self) -> None:
        self.net.drop_dead()

    # -- loops

    def loops(self) -> list[Step]:
        return [_step(self.net, one, ()) for one in self.net.of_kind(*LOOPS)]

    def initials(self, key: str) -> list[str]:
        return ir_loops.initials(self.net, self._layer(key))

    def finals(self, key: str) -> list[str]:
        return ir_loops.finals(self.net, self._layer(key))

    def limit(self, key: str, where: Where, count: int, values: Mapping[str, Data]) -> dict[str, Data] | None:
        net = self._inside(where)
        return ir_loops.limit(self.fill, net, self._layer(key, where), count, values, main=not where)

    def begin(self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]) -> dict[str, Data] | None:
        return ir_loops.begin(self.fill, self.net, self._layer(key), at, state, values)

    def peel(self, key: str, at: int, state: Sequence[Data], values: Mapping[str, Data]) -> dict[str, Data] | None:
        return ir_loops.peel(self.root, self._layer(key), at, state, values)

    def branches(self) -> list[Step]:
        return []

    def take(self, key: str, values: Mapping[str, Data]) -> bool:
        return False

    # -- inner graphs

    def settle(self, step: Step, value: Data) -> bool:
        layer = self._layer(step.key, step.where)
        ports = outputs(layer)
        if len(ports) != 1 or not isinstance(value, np.ndarray) or layer.get("type") in CONSTANTS:
            return False
        net = self._inside(step.where)
        for port in layer.findall("input/port"):
            net.cut((layer.get("id"), port.get("id")))
        self.fill(layer, value)
        return True

    def bypass(self, step: Step, source: str) -> bool:
        net, layer = self._inside(step.where), self._layer(step.key, step.where)
        ports = outputs(layer)
        if len(ports) != 1 or source not in step.inputs:
            return False
        net.redirect((layer.get("id"), ports[0].get("id")), net.port_of(source))
        net.remove(layer)
        return True

    def carried(self) -> list[tuple[Step, int]]:
        every = [*self.steps(), *self.inner_steps()]
        found = [(step, self._layer(step.key, step.where)) for step in every if step.op_type in LOOPS]
        return [(step, k) for step, layer in found for k in range(len(back_edges(layer)))]

    def uncarry(self, step: Step, which: int) -> bool:
        edge = back_edges(self._layer(step.key, step.where))[which]
        edge.getparent().remove(edge)
        return True

    def unread(self) -> list[tuple[Step, int]]:
        every = [*self.steps(), *self.inner_steps()]
        found = [(step, self._layer(step.key, step.where)) for step in every if step.op_type in LOOPS]
        return [(step, k) for step, layer in found for k in ir_loops.unread(self._inside(step.where), layer)]

    def drop(self, step: Step, which: Sequence[int]) -> bool:
        ir_loops.drop(self._inside(step.where), self._layer(step.key, step.where), which)
        return True

    # -- data

    def constants(self) -> dict[str, Data]:
        return {name: array for name, (_, array) in self._arrays().items()}

    def set_constants(self, values: Mapping[str, Data]) -> None:
        found = self._arrays()
        for name, data in values.items():
            if name in found:
                self.fill(found[name][0], np.asarray(data))

    def fit_inputs(self, inputs: Mapping[str, Data]) -> None:
        for layer in self.net.of_kind("Parameter"):
            name = outputs(layer)[0].get("names")
            if name in inputs:
                layer.find("data").set("shape", ",".join(map(str, np.shape(inputs[name]))))
        for net in list(nets(self.net))[1:]:
            for layer in net.of_kind("Parameter"):
                data = layer.find("data")
                rank = len([one for one in data.get("shape", "").split(",") if one])
                data.set("shape", ",".join(["?"] * rank))
        self._sizeless()

    def tidy(self) -> list[Callable[[], None]]:
        return [self._untold, self._sizeless, self._empty, lambda: ir_variables.forget(self.net)]

    def _untold(self) -> None:
        """No metadata."""
        for tag in _UNREAD:
            for one in list(self.root.iter(tag)):
                one.getparent().remove(one)

    def _sizeless(self) -> None:
        """No shapes of what layers make: they follow."""
        for port in self.root.iter("port"):
            for dim in list(port):
                port.remove(dim)

    def _empty(self) -> None:
        """No elements that say nothing."""
        for one in list(self.root.iter("data", "input", "output", "back_edges")):
            if not len(one) and not one.attrib:
                one.getparent().remove(one)

    # -- variables

    def begin_with(self, state: Mapping[str, Data]) -> None:
        """Let variables begin with these values."""
        ir_variables.begin_with(self.fill, self.net, state)

    def assigned(self) -> list[str]:
        """What the main graph assigns to variables."""
        return ir_variables.assigned(self.net)

    # -- for the modules that know loops

    def fill(self, layer: Element, value: Any) -> None:
        """Let a layer be a constant."""
        array = np.ascontiguousarray(value)
        layer.set("type", "Const")
        layer.set("version", "opset1")
        for tag in ("input", "data", "rt_info"):
            for one in layer.findall(tag):
                layer.remove(one)
        shape = ",".join(map(str, np.shape(value)))
        data = etree.Element("data", element_type=ir_loops.element_type(array.dtype), shape=shape)
        layer.insert(0, data)
        self.pool.append(array.tobytes())
        layer.set(_POOLED, str(len(self.pool) - 1))
        for port in outputs(layer):
            port.set("precision", ir_loops.precision(array.dtype))

    def _take(self, blob: bytes) -> None:
        """Put the bytes of all constants into the pool."""
        for layer in _constants(self.net):
            data = layer.find("data")
            start, size = int(data.get("offset", 0)), int(data.get("size", 0))
            layer.set(_POOLED, str(len(self.pool)))
            self.pool.append(blob[start : start + size])

    def _arrays(self) -> dict[str, tuple[Element, Data]]:
        """Constants of plain types, by name; a number follows where one name stands in two graphs."""
        found: dict[str, tuple[Element, Data]] = {}
        for k, net in enumerate(nets(self.net)):
            for layer in net.of_kind(*CONSTANTS):
                name = outputs(layer)[0].get("names")
                array = _array(layer, self.pool[int(layer.get(_POOLED))])
                if array is not None:
                    found[name if name not in found else f"{name} {k}"] = layer, array
        return found

    def _inside(self, where: Where) -> Net:
        net = self.net
        for key, word in where:
            net = dict(inner_nets(_layer(net, key)))[word]
        return net

    def _layer(self, key: str, where: Where = ()) -> Element:
        return _layer(self._inside(where), key)


def _array(layer: Element, data: bytes) -> Data | None:
    """The numbers of a constant; None where they are packed."""
    told = layer.find("data")
    try:
        dtype = dtypes.from_openvino(told.get("element_type", ""))
        shape = [int(dim) for dim in told.get("shape", "").split(",") if dim]
        return np.frombuffer(data, dtype)[: int(np.prod(shape))].reshape(shape)
    except (UnsupportedError, ValueError, TypeError):
        return None


def _name(net: Net, given: Sequence[str], results: Sequence[str]) -> None:
    """Give each value one name: that of the model's input or output, its tensor's, or its layer's."""
    taken: set[str] = set()
    params, known = net.of_kind("Parameter"), iter(given)
    for layer in params:
        port = outputs(layer)[0]
        port.set("names", _free(next(known, port.get("names") or layer.get("name")), taken))
    sources = net.sources()
    told = {sources[one.get("id"), one.find("input")[0].get("id")]: one for one in net.of_kind("Result")}
    wanted = dict(zip(told, results, strict=False)) if len(told) == len(results) else {}
    for layer in net.layers:
        for port in () if layer in params else outputs(layer):
            own = (port.get("names") or layer.get("name") or layer.get("type")).split(",")[0]
            port.set("names", _free(wanted.get((layer.get("id"), port.get("id")), own), taken))
        for _, inner in inner_nets(layer):
            _name(inner, (), ())
    for source, layer in told.items():
        layer.set("output_names", net.names()[source])
    for layer in net.of_kind("Result"):
        if net.element.tag == "net" and layer not in told.values():
            net.remove(layer)  # a value is an output once


def _free(name: str, taken: set[str]) -> str:
    name = name.replace(",", "_")
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


def _nodes(net: Net) -> list[Element]:
    return [one for one in net.layers if one.get("type") not in ("Parameter", "Result", *CONSTANTS)]


def _step(net: Net, layer: Element, where: Where) -> Step:
    made = tuple(port.get("names") for port in outputs(layer) if port.get("names"))
    key = made[0] if made else layer.get("name")
    return Step(key, layer.get("name"), layer.get("type"), tuple(net.inputs_of(layer)), made, where)


def _layer(net: Net, key: str) -> Element:
    return net.layer(net.port_of(key)[0])


def _collect(net: Net, where: Where, found: list[Step]) -> None:
    for layer in _nodes(net):
        for word, inner in inner_nets(layer):
            around = (*where, (_step(net, layer, where).key, word))
            found += [_step(inner, one, around) for one in _nodes(inner)]
            _collect(inner, around, found)


def _constants(net: Net) -> list[Element]:
    return [layer for one in nets(net) for layer in one.of_kind(*CONSTANTS)]


def _lines(document: IrDocument, net: Net, indent: str) -> list[str]:
    """The layers of a graph, one a line."""
    lines = []
    for layer in net.layers:
        told = layer.find("data")
        words = {} if told is None else dict(told.attrib)
        made = ", ".join(port.get("names") or "_" for port in outputs(layer)) or layer.get("output_names", "result")
        reads = ", ".join(net.inputs_of(layer))
        text = ", ".join(f"{name}={value}" for name, value in words.items() if name not in ("offset", "size"))
        line = f"{indent}{made} = {layer.get('type')}({reads}) {text}".rstrip()
        if layer.get("type") in CONSTANTS:
            array = _array(layer, document.pool[int(layer.get(_POOLED))])
            line += "" if array is None else f" {np.array2string(np.asarray(array), threshold=10)}"
        lines.append(line)
        for word, inner in inner_nets(layer):
            for entry in (*(layer.find("port_map") or ()), *back_edges(layer)):
                lines.append(f"{indent}  {entry.tag} {' '.join(f'{k}={v}' for k, v in entry.attrib.items())}")
            lines += [f"{indent}  {word}:", *_lines(document, inner, f"{indent}    ")]
    return lines
