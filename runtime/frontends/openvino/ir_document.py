"""Parses the XML of OpenVINO IR: layers, ports, edges, port maps and back edges.

It is independent of the operators. The format is described in docs/semantics.md 7.1 and 7.2. Ids are identifiers, not
ranks (0.12), and each graph (the net, each body) has its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Unpack

from lxml import etree

from ...errors import ErrorFields, ModelError, UnsupportedError, file_error, one_line
from ...record import record
from ...safe_file_reading import StableFile

Element = Any  # lxml.etree._Element; lxml has no type information of its own
#: A port of a layer: (layer id, port id).
PortKey = tuple[int, int]

_OPSET = re.compile(r"opset(\d+)", re.ASCII)
_DIM = re.compile(r"\?|-1|\d{1,18}|\d*\.\.\d*", re.ASCII)


@record(frozen=True)
class IrPort:
    """One ``<port>``. ``names``: the tensor's names, with commas unescaped."""

    id: int
    precision: str | None
    dims: tuple[int | None, ...]
    names: tuple[str, ...]


@record(frozen=True, eq=False)
class IrLayer:
    """One ``<layer>``. ``opset`` is the number in ``version="opsetN"``, 0 for versions of another form."""

    id: int
    name: str
    type: str
    version: str
    opset: int
    data: dict[str, str]
    inputs: tuple[IrPort, ...]
    outputs: tuple[IrPort, ...]
    element: Element

    @property
    def kind(self) -> str:
        """The type in lower case, as OpenVINO ignores case (docs/semantics.md 7.2)."""
        return self.type.lower()

    def __str__(self) -> str:
        return f"{self.type} '{self.name}'"


@record(frozen=True)
class IrNetwork:
    """The layers of one graph in document order; ``sources``: connected input port -> the output port that it reads."""

    layers: dict[int, IrLayer]
    sources: dict[PortKey, PortKey]


@record(frozen=True)
class PortMapEntry:
    """One ``<input>`` or ``<output>`` of a port map. ``axis`` None: not sliced, not concatenated."""

    external: int
    internal: int
    axis: int | None
    start: int
    end: int
    stride: int
    part_size: int
    purpose: str
    element: Element

    def __str__(self) -> str:
        tag = self.element.tag
        return f'port_map {tag} external_port_id="{self.external}" internal_layer_id="{self.internal}"'


@record(frozen=True)
class BackEdgeEntry:
    """One ``<edge>`` of ``<back_edges>``: body Result id -> body Parameter id."""

    source: int
    target: int
    element: Element

    def __str__(self) -> str:
        return f'back edge from-layer="{self.source}" to-layer="{self.target}"'


class IrXml:
    """One ``.xml`` file, with errors that name its lines."""

    def __init__(self, path: Path) -> None:
        """Parse the file without entities, DTDs and network access.

        Raises:
            ModelError: the file cannot be read, is not XML or IR, or has an unsupported version.
        """
        self.path = path
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        try:
            with StableFile(path) as file:
                self.root: Element = _parse_root(file, parser)
        except OSError as error:
            raise file_error(ModelError, path, "cannot be read", error) from None
        if self.root.getroottree().docinfo.doctype:
            raise self.error(self.root, "a DOCTYPE has no place in OpenVINO IR, and none is read; remove it")
        if self.root.tag != "net":
            raise self.error(
                self.root,
                f"not an OpenVINO IR: the root element is <{self.root.tag}>, expected <net>",
                expected="net",
                got=self.root.tag,
            )
        self.version = self.integer(self.root, "version", f"<{self.root.tag}>")
        if self.version not in (10, 11):  # docs/semantics.md 7.2
            raise self.error(
                self.root,
                f"IR version {self.version} is not read, only versions 10 and 11; convert the model again",
                name="version",
                expected="10 or 11",
                got=str(self.version),
            )

    def error(self, element: Element, message: str, **fields: Unpack[ErrorFields]) -> ModelError:
        """A ``ModelError`` that names file, line and layer."""
        return ModelError(self._message_with_line(element, message), **(_layer_fields(element) | fields))

    def unsupported(self, element: Element, message: str, **fields: Unpack[ErrorFields]) -> UnsupportedError:
        """An ``UnsupportedError`` that names file, line and layer."""
        return UnsupportedError(self._message_with_line(element, message), **(_layer_fields(element) | fields))

    def _message_with_line(self, element: Element, message: str) -> str:
        return f"{self.path}, line {element.sourceline}: {message}"

    def integer(self, element: Element, attribute: str, label: str, default: int | None = None) -> int:
        """Read an integer attribute; required where there is no default."""
        text = element.get(attribute)
        if text is None:
            if default is None:
                raise self.error(element, f"{label} lacks its attribute '{attribute}'", name=attribute)
            return default
        try:
            number = int(text)
        except ValueError:
            raise self.error(
                element,
                f'{label}: {attribute}="{text}" is not an integer',
                name=attribute,
                expected="an integer",
                got=text,
            ) from None
        if not -(2**63) <= number < 2**63:
            raise self.error(
                element,
                f'{label}: {attribute}="{text}" does not fit 64 bits',
                name=attribute,
                expected="64 bits",
                got=text,
            )
        return number

    def network(self, element: Element, label: str, outer: Collection[int] = ()) -> IrNetwork:
        """Read the layers and edges of the net or of a body.

        ``outer``: the layer ids of the enclosing graph, for messages.

        Raises:
            ModelError: ids are missing, duplicate or unknown, two edges lead to one port, or an opset is missing.
        """
        layers: dict[int, IrLayer] = {}
        for child in self._group_children(element, "layers", "layer"):
            layer = self._parse_layer(child, label)
            if layer.id in layers:
                raise self.error(
                    child,
                    f"{label} has two layers with id {layer.id}: {layers[layer.id]} and {layer}",
                    name="id",
                    got=str(layer.id),
                )
            layers[layer.id] = layer
        ports = {id: ({p.id for p in layer.inputs}, {p.id for p in layer.outputs}) for id, layer in layers.items()}
        sources: dict[PortKey, PortKey] = {}
        for child in self._group_children(element, "edges", "edge"):
            ends: list[PortKey] = []
            for side, direction in (("from", "output"), ("to", "input")):
                id = self.integer(child, f"{side}-layer", f"an edge of {label}")
                port = self.integer(child, f"{side}-port", f"an edge of {label}")
                if id not in layers:
                    message = f"an edge of {label} names {side}-layer {id}, which is no layer of it"
                    if id in outer:
                        message += "; no edge may join a body and the graph around it, use the port_map"
                    raise self.error(child, message, name=f"{side}-layer", got=str(id))
                known = ports[id][side == "from"]
                if port not in known:
                    raise self.error(
                        child,
                        f"an edge of {label} names {direction} port {port} of {layers[id]} (layer {id}), "
                        f"which has {format_ids(known)}",
                        name=f"{direction} port",
                        expected=format_ids(known),
                        got=str(port),
                    )
                ends.append((id, port))
            source, target = ends
            if target in sources:
                raise self.error(
                    child,
                    f"two edges lead to input port {target[1]} of {layers[target[0]]}",
                    name="to-port",
                    got=str(target[1]),
                )
            sources[target] = source
        return IrNetwork(layers, sources)

    def port_map(self, layer: IrLayer, tag: str = "port_map") -> tuple[list[PortMapEntry], list[PortMapEntry]]:
        """The input and the output entries of a layer's port map, in document order."""
        return (
            [self._parse_port_map_entry(layer, child) for child in self._group_children(layer.element, tag, "input")],
            [self._parse_port_map_entry(layer, child) for child in self._group_children(layer.element, tag, "output")],
        )

    def back_edges(self, layer: IrLayer) -> list[BackEdgeEntry]:
        """A loop's back edges in document order; their ports are ignored (docs/semantics.md 7.1)."""
        return [
            BackEdgeEntry(
                self.integer(child, "from-layer", f"a back edge of {layer}"),
                self.integer(child, "to-layer", f"a back edge of {layer}"),
                child,
            )
            for child in self._group_children(layer.element, "back_edges", "edge")
        ]

    def body(self, layer: IrLayer, tag: str) -> Element:
        """The element with a layer's inner graph."""
        element = layer.element.find(tag)
        if element is None:
            raise self.error(layer.element, f"{layer} has no <{tag}>", name=tag)
        return element

    def shape(self, layer: IrLayer, text: str) -> tuple[int | None, ...] | None:
        """Parse a PartialShape string: ``2,?``, ``1..5,-1``, empty for a scalar; ``...`` is any rank, None.

        Dimensions that are not numbers become None; :meth:`bounds` returns ranges.
        """
        text = text.strip().removeprefix("[").removesuffix("]").strip()
        if text == "...":
            return None
        dims = [part.strip() for part in text.split(",")] if text else []
        if not all(_DIM.fullmatch(dim) for dim in dims):
            raise self.error(layer.element, f'{layer}: shape="{text}" cannot be read', name="shape", got=text)
        return tuple(int(dim) if dim.isdigit() else None for dim in dims)

    def bounds(self, layer: IrLayer, text: str) -> dict[int, tuple[int, int | None]]:
        """The ranges of a PartialShape string by axis: ``1..5``, ``..5``, ``1..``."""
        ranges: dict[int, tuple[int, int | None]] = {}
        for axis, dim in enumerate(text.strip().removeprefix("[").removesuffix("]").split(",")):
            minimum, dots, maximum = dim.strip().partition("..")
            if dots and (minimum or maximum) and not (minimum or maximum).startswith("."):
                ranges[axis] = int(minimum or 0), int(maximum) if maximum else None
                if maximum and int(maximum) < int(minimum or 0):
                    raise self.error(
                        layer.element, f'{layer}: shape="{text}": no size is {dim.strip()}', name="shape", got=text
                    )
        return ranges

    def _group_children(self, element: Element, group: str, tag: str) -> Iterator[Element]:
        parent = element.find(group)
        return iter(()) if parent is None else parent.iterchildren(tag)

    def _parse_layer(self, element: Element, label: str) -> IrLayer:
        id = self.integer(element, "id", f"a layer of {label}")
        type, version = element.get("type"), element.get("version")
        name = element.get("name") or f"{type}_{id}"
        metadata = element.find("data")
        if not version and metadata is not None and metadata.get("execOrder") is not None:
            raise self.error(
                element,
                "is an execution graph (compiled_model.get_runtime_model), which tells how a runtime ran a model and"
                " cannot be run; open the model that it was made of",
            )
        for attribute, value in (("type", type), ("version", version)):
            if not value:
                hint = ' (such as version="opset5")' if attribute == "version" else ""
                raise self.error(
                    element, f"layer '{name}' of {label} lacks its attribute '{attribute}'{hint}", name=attribute
                )
        match = _OPSET.fullmatch(version)
        data = element.find("data")
        return IrLayer(
            id,
            name,
            type,
            version,
            int(match[1]) if match else 0,
            {} if data is None else dict(data.attrib),
            self._parse_ports(element, "input", name),
            self._parse_ports(element, "output", name),
            element,
        )

    def _parse_ports(self, layer: Element, group: str, name: str) -> tuple[IrPort, ...]:
        ports: dict[int, IrPort] = {}
        for element in self._group_children(layer, group, "port"):
            id = self.integer(element, "id", f"an {group} port of layer '{name}'")
            if id in ports:
                raise self.error(
                    element, f"layer '{name}' has two {group} ports with id {id}", name=f"{group} port", got=str(id)
                )
            dims: list[int | None] = []
            for dim in element.iterchildren("dim"):
                text = (dim.text or "").strip()
                if not _DIM.fullmatch(text):
                    raise self.error(
                        dim,
                        f"{group} port {id} of layer '{name}': dimension \"{text}\" cannot be read",
                        name=f"{group} port {id}",
                        got=text,
                    )
                dims.append(int(text) if text.isdigit() else None)
            ports[id] = IrPort(id, element.get("precision"), tuple(dims), split_tensor_names(element.get("names")))
        return tuple(ports.values())

    def _parse_port_map_entry(self, layer: IrLayer, element: Element) -> PortMapEntry:
        label = f"a port_map entry of {layer}"
        return PortMapEntry(
            self.integer(element, "external_port_id", label),
            self.integer(element, "internal_layer_id", label),
            None if element.get("axis") is None else self.integer(element, "axis", label),
            self.integer(element, "start", label, 0),
            self.integer(element, "end", label, -1),
            self.integer(element, "stride", label, 1),
            self.integer(element, "part_size", label, 1),
            element.get("purpose", ""),
            element,
        )


def split_tensor_names(text: str | None) -> tuple[str, ...]:
    """Tensor names: separated by commas, a comma inside a name written as ``\\,``."""
    parts = re.split(r"(?<!\\),", text or "")
    return tuple(part.replace("\\,", ",") for part in parts if part)


def format_ids(known: Iterable[int]) -> str:
    """A list of ids for messages."""
    ids = sorted(known)
    if not ids:
        return "none"
    return ", ".join(map(str, ids[:20])) + (", ..." if len(ids) > 20 else "")


def _layer_fields(element: Element) -> ErrorFields:
    """The layer that an element is or belongs to, as fields of an error."""
    layer = next((e for e in (element, *element.iterancestors()) if e.tag == "layer"), None)
    return {} if layer is None else {"node": layer.get("name"), "op_type": layer.get("type")}


def _parse_root(file: StableFile, parser: Any) -> Element:
    """Parse a file; returns the root element."""
    try:
        return etree.parse(file.stream(), parser).getroot()
    except etree.XMLSyntaxError as error:
        if b"\0" in file.read_range(0, min(file.size, 4096)):  # text has no NUL bytes
            raise ModelError(
                f"{file.path}: is no XML but binary data; a model that a runtime compiled or exported"
                " (compiled_model.export_model) cannot be opened: open the model that it was made of",
                expected="XML",
                got="binary data",
            ) from None
        reason = re.sub(r", line \d+, column \d+.*$", "", one_line(error))
        raise ModelError(
            f"{file.path}, line {error.lineno}: broken XML: {reason}; check that the file is complete",
            expected="XML",
            got=reason,
        ) from None
