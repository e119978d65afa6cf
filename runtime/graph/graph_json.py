"""JSON serialization of a loop graph: structure, names, ports and small constants.

Values are numbered, as two scopes may each have a value of one name. Large constants are omitted: a decoded graph can
be displayed and explained, but not run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ..dtypes import dtype_from_name as dtype_of
from ..errors import LoopdbgError, ModelError, one_line
from ..record import record
from .loop_graph import (
    Array,
    BackEdge,
    Dim,
    ExcludedItem,
    Graph,
    If,
    Invariant,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    OptionalType,
    ScanOutput,
    SequenceType,
    SlicedInput,
    System,
    TensorType,
    Value,
    ValueType,
    Variable,
    bodies,
    own_values,
)
from .origin import UNKNOWN_ORIGIN, Origin
from .value_encoding import decode_value, encode_value

#: The version of the JSON format; other versions are rejected.
FORMAT_VERSION = 1
#: Larger constants and attributes are omitted.
MAX_INLINE_BYTES = 1 << 16
#: Constants are compared in blocks of this size.
_COMPARED_BYTES = 1 << 24
#: The fields of an origin.
_ORIGIN_FIELDS = tuple(part.name for part in fields(Origin))


@record(frozen=True)
class OmittedArray:
    """Placeholder for an attribute that was too large to be stored."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)} (not kept)"


def graph_to_json(graph: Graph, small: int = MAX_INLINE_BYTES) -> str:
    """Serialize a graph; constants of more than ``small`` bytes are omitted."""
    encoder = _GraphEncoder(small)
    root = encoder.encode_graph(graph)
    return json.dumps({"version": FORMAT_VERSION, "values": encoder.values, "graph": root}, separators=(",", ":"))


def graph_digest(graph: Graph) -> str:
    """A hash of a graph's structure and of the contents of its constants, independent of where they were read from."""
    hasher = _GraphHasher(0)
    root = hasher.encode_graph(graph)
    text = json.dumps([hasher.values, root], separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def identical_value_pairs(left: Graph, right: Graph) -> dict[Value, Value] | None:
    """The pairs of values of two graphs that are identical, down to names and the bits of constants; None if they are
    not. Where they were read from does not count."""
    encoders = _StructureEncoder(), _StructureEncoder()
    roots = [encoder.encode_graph(graph) for encoder, graph in zip(encoders, (left, right), strict=True)]
    # As texts, in which 1 is not 1.0, and 0.0 is not -0.0.
    texts = [json.dumps([encoder.values, root]) for encoder, root in zip(encoders, roots, strict=True)]
    if texts[0] != texts[1]:
        return None
    if not all(map(_have_same_bits, encoders[0].arrays, encoders[1].arrays)):
        return None
    return dict(zip(encoders[0].numbers, encoders[1].numbers, strict=True))


def _have_same_bits(left: Array, right: Array) -> bool:
    """Whether two arrays of one dtype and shape hold the same."""
    if left is right or left.dtype.kind in "OUST":
        return left is right or left.tolist() == right.tolist()
    a, b = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (left, right))
    # Large constants are mapped files: one block of them at a time.
    blocks = (slice(k, k + _COMPARED_BYTES) for k in range(0, len(a), _COMPARED_BYTES))
    return all(np.array_equal(a[block], b[block]) for block in blocks)


def graph_from_json(text: str) -> Graph:
    """Deserialize a graph. An omitted constant is in ``constants`` and holds no data.

    Raises:
        ModelError: the text is not a graph, or has another format version.
    """
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or "version" not in document:
            raise ModelError("the text is no loop graph", expected="a loop graph")
        if document["version"] != FORMAT_VERSION:
            raise ModelError(
                f"the loop graph has form {document['version']}; this program reads form {FORMAT_VERSION}",
                name="version",
                expected=str(FORMAT_VERSION),
                got=str(document["version"]),
            )
        graph = _GraphDecoder(document["values"]).decode_graph(document["graph"])
        _check_definitions(graph, frozenset())
        return graph
    except LoopdbgError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ModelError(f"the loop graph is damaged: {one_line(error)}", name="graph", got=one_line(error)) from None


class _GraphEncoder:
    def __init__(self, small: int) -> None:
        self.max_inline_bytes = small
        self.values: list[dict[str, Any]] = []
        self.numbers: dict[Value, int] = {}

    def encode_value(self, value: Value | None) -> int | None:
        if value is None:
            return None
        if value not in self.numbers:
            self.numbers[value] = len(self.values)
            entry: dict[str, Any] = {"name": value.name}
            if value.type != TensorType():
                entry["type"] = _encode_type(value.type)
            if value.constant is not None:
                entry["constant"] = self.encode_array(value.constant)
            self.values.append(entry)
        return self.numbers[value]

    def encode_array(self, array: Array) -> dict[str, Any]:
        entry: dict[str, Any] = {"dtype": "string" if array.dtype.kind in "OUST" else array.dtype.name}
        entry["shape"] = list(array.shape)
        if array.nbytes <= self.max_inline_bytes:
            data = encode_value(array).data
            entry["data"] = data if isinstance(data, str) else base64.b64encode(data or b"").decode()
        return entry

    def encode_graph(self, graph: Graph) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": graph.name,
            "system": graph.system.value,
            "inputs": [self.encode_value(v) for v in graph.inputs],
            "constants": [self.encode_value(v) for v in graph.constants],
            "nodes": [self.encode_node(n) for n in graph.nodes],
            "outputs": [self.encode_value(v) for v in graph.outputs],
        }
        if graph.output_names:
            entry["output_names"] = list(graph.output_names)
        if graph.opsets:
            entry["opsets"] = dict(graph.opsets)
        if graph.variables:
            entry["variables"] = [
                {"name": item.name}
                | {
                    part: self.encode_value(value)
                    for part in _VARIABLE_PARTS
                    if (value := getattr(item, part)) is not None
                }
                for item in graph.variables
            ]
        if graph.defaults:
            entry["defaults"] = {name: self.encode_array(np.asarray(array)) for name, array in graph.defaults.items()}
        if graph.notes:
            entry["notes"] = list(graph.notes)
        if graph.excluded:
            entry["excluded"] = [[item.subject, item.reason, list(item.outputs)] for item in graph.excluded]
        return entry

    def encode_node(self, node: Node) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": node.name,
            "op": node.op_type,
            "domain": node.domain,
            "version": node.version,
            "in": [self.encode_value(v) for v in node.inputs],
            "out": [self.encode_value(v) for v in node.outputs],
        }
        if source := self.encode_origin(node.origin):
            entry["source"] = source
        if isinstance(node, Loop):
            entry["loop"] = self.encode_loop(node)
        elif isinstance(node, If):
            entry["then"], entry["else"] = self.encode_graph(node.then_branch), self.encode_graph(node.else_branch)
        elif isinstance(node, Operation) and node.attributes:
            entry["attributes"] = {name: self.encode_attribute(value) for name, value in node.attributes.items()}
        return entry

    def encode_origin(self, origin: Origin) -> dict[str, Any]:
        """The known fields of an origin."""
        return {name: value for name in _ORIGIN_FIELDS if (value := getattr(origin, name))}

    def encode_loop(self, loop: Loop) -> dict[str, Any]:
        return {
            "body": self.encode_graph(loop.body),
            "system": loop.system.value,
            **{name: self.encode_value(getattr(loop, name)) for name in _LOOP_VALUES},
            **{name: getattr(loop, name) for name in (*_LOOP_FLAGS, *_LOOP_PORTS, "fixed_trips", "notes")},
            **({"made_of": loop.derived_from} if loop.derived_from else {}),
            **({} if loop.condition_node_count is None else {"tested": loop.condition_node_count}),
            "sliced_inputs": [self.encode_sliced_input(s) for s in loop.sliced_inputs],
            "back_edges": [
                {
                    "initial": self.encode_value(e.initial)
                    if isinstance(e.initial, Value)
                    else self.encode_sliced_input(e.initial),
                    "param": self.encode_value(e.param),
                    "result": self.encode_value(e.result),
                }
                for e in loop.back_edges
            ],
            "invariants": [[self.encode_value(i.outer), self.encode_value(i.inner)] for i in loop.invariants],
            "last_values": [
                {
                    "result": self.encode_value(v.result),
                    "outer": self.encode_value(v.outer),
                    "edge": next((k for k, e in enumerate(loop.back_edges) if e is v.edge), None),
                }
                for v in loop.last_values
            ],
            "scan_outputs": [
                {
                    "result": self.encode_value(s.result),
                    "outer": self.encode_value(s.outer),
                    "axis": s.axis,
                    "stack": s.stack,
                    "reverse": s.reverse,
                    **({} if s.length is None else {"length": self.encode_value(s.length)}),
                    **({} if s.valid is None else {"valid": self.encode_value(s.valid)}),
                    **({} if s.part_size == 1 else {"part_size": s.part_size}),
                }
                for s in loop.scan_outputs
            ],
        }

    def encode_sliced_input(self, sliced: SlicedInput) -> dict[str, Any]:
        return {
            "outer": self.encode_value(sliced.outer),
            "inner": self.encode_value(sliced.inner),
            **{name: getattr(sliced, name) for name in (*_SLICE_NUMBERS, "drop_axis")},
            **({"from_trip_count": True} if sliced.from_trip_count else {}),
        }

    def encode_attribute(self, value: Any) -> Any:
        """Encode an attribute; bytes, arrays and NaN, which JSON lacks, become objects tagged with their kind."""
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.ndarray):
            return {"array": self.encode_array(value)}
        if isinstance(value, list | tuple):
            return [self.encode_attribute(element) for element in value]
        if isinstance(value, Mapping):
            return {"map": {str(key): self.encode_attribute(element) for key, element in value.items()}}
        if isinstance(value, TensorType | SequenceType | OptionalType):
            return {"type": _encode_type(value)}
        return {"text": str(value)}


_LOOP_VALUES = (
    "trip_count",
    "initial_condition",
    "condition",
    "condition_input",
    "ignored_condition",
    "iteration",
)
_LOOP_FLAGS = ("minus_one_is_no_limit", "counted_by_slices")
#: Absent in traces of older versions.
_LOOP_PORTS = ("input_ports", "output_ports")
#: Fields of :class:`Variable`.
_VARIABLE_PARTS = ("state", "known", "assigned", "initial")
#: Text fields of :class:`Origin`.
_ORIGIN_TEXTS = ("file", "code", "function", "framework_node", "traced")
#: Integer fields, in the order of :class:`SlicedInput`.
_SLICE_NUMBERS = ("axis", "start", "end", "stride", "part_size")


def _encode_type(kind: ValueType) -> dict[str, Any]:
    if isinstance(kind, SequenceType):
        return {"sequence": _encode_type(kind.element)}
    if isinstance(kind, OptionalType):
        return {"optional": _encode_type(kind.element)}
    dtype = None if kind.dtype is None else "string" if kind.dtype == object else kind.dtype.name
    entry: dict[str, Any] = {"dtype": dtype, "shape": None if kind.shape is None else list(kind.shape)}
    if kind.bounds:
        entry["bounds"] = [[axis, *limits] for axis, limits in kind.bounds.items()]
    return entry


class _GraphHasher(_GraphEncoder):
    """Encodes arrays of any size as a hash of their contents, and omits source locations."""

    def encode_origin(self, origin: Origin) -> dict[str, Any]:
        return {}

    def encode_array(self, array: Array) -> dict[str, Any]:
        data = encode_value(array).data
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data or b""
        digest = hashlib.blake2b(raw, digest_size=16).hexdigest()
        return {"dtype": array.dtype.name, "shape": list(array.shape), "held": digest}


class _StructureEncoder(_GraphEncoder):
    """Collects arrays, and encodes only their types; omits source locations."""

    def __init__(self) -> None:
        super().__init__(0)
        self.arrays: list[Array] = []

    def encode_origin(self, origin: Origin) -> dict[str, Any]:
        return {}

    def encode_array(self, array: Array) -> dict[str, Any]:
        self.arrays.append(array)
        return {"dtype": array.dtype.name, "shape": array.shape}


class _GraphDecoder:
    def __init__(self, values: list[dict[str, Any]]) -> None:
        self.values = [
            Value(
                _read_text(entry["name"]),
                _read_type(entry["type"]) if "type" in entry else TensorType(),
                _read_array(entry["constant"]) if "data" in entry.get("constant", ()) else None,
            )
            for entry in values
        ]

    def value_by_number(self, number: int) -> Value:
        return self.values[_read_nonnegative(number)]

    def optional_value_by_number(self, number: int | None) -> Value | None:
        return None if number is None else self.value_by_number(number)

    def decode_graph(self, entry: Mapping[str, Any]) -> Graph:
        return Graph(
            _read_text(entry["name"]),
            [self.value_by_number(v) for v in entry["inputs"]],
            [self.value_by_number(v) for v in entry["outputs"]],
            [self.decode_node(n) for n in entry["nodes"]],
            [self.value_by_number(v) for v in entry["constants"]],
            [_read_text(name) for name in entry.get("output_names", ())],
            System(entry["system"]),
            {_read_text(name): _read_nonnegative(version) for name, version in entry.get("opsets", {}).items()},
            {
                # A default that is too large to store still marks the input as optional.
                name: _read_array(array) if "data" in array else np.empty(0, dtype_of("object"))
                for name, array in entry.get("defaults", {}).items()
            },
            notes=[_read_text(note) for note in entry.get("notes", ())],
            excluded=[
                ExcludedItem(_read_text(subject), _read_text(reason), tuple(map(_read_text, outputs)))
                for subject, reason, outputs in entry.get("excluded", ())
            ],
            variables=[
                Variable(
                    _read_text(var["name"]),
                    **{part: self.value_by_number(var[part]) for part in _VARIABLE_PARTS if part in var},
                )
                for var in entry.get("variables", ())
            ],
        )

    def decode_node(self, entry: Mapping[str, Any]) -> Node:
        inputs, outputs = (
            [self.optional_value_by_number(v) for v in entry["in"]],
            [self.optional_value_by_number(v) for v in entry["out"]],
        )
        texts = (_read_text(entry["name"]), _read_text(entry["op"]), _read_text(entry["domain"]))
        header = (*texts, _read_nonnegative(entry["version"]), inputs, outputs)
        source = _read_origin(entry)
        if "loop" in entry:
            return self.decode_loop(Node(*header, source=source), entry["loop"])
        if "then" in entry:
            then_branch, else_branch = self.decode_graph(entry["then"]), self.decode_graph(entry["else"])
            return If(*header, source=source, then_branch=then_branch, else_branch=else_branch)
        attributes = {name: _read_attribute(value) for name, value in entry.get("attributes", {}).items()}
        return Operation(*header, attributes=attributes, source=source)

    def decode_loop(self, header: Node, entry: Mapping[str, Any]) -> Loop:
        loop = Loop(**vars(header), body=self.decode_graph(entry["body"]), system=System(entry["system"]))
        for name in _LOOP_VALUES:
            setattr(loop, name, self.optional_value_by_number(entry[name]))
        for name in _LOOP_FLAGS:
            setattr(loop, name, _read_bool(entry[name]))
        for name in _LOOP_PORTS:
            setattr(loop, name, [_read_int(port) for port in entry.get(name, ())])
        trips = entry["fixed_trips"]
        loop.fixed_trips = None if trips is None else _read_nonnegative(trips)
        loop.notes = [_read_text(note) for note in entry["notes"]]
        loop.derived_from = _read_text(entry.get("made_of", ""))
        loop.condition_node_count = None if entry.get("tested") is None else _read_nonnegative(entry["tested"])
        loop.sliced_inputs = [self.decode_sliced_input(s) for s in entry["sliced_inputs"]]
        for e in entry["back_edges"]:
            initial = (
                self.decode_sliced_input(e["initial"])
                if isinstance(e["initial"], dict)
                else self.value_by_number(e["initial"])
            )
            loop.back_edges.append(
                BackEdge(initial, self.value_by_number(e["param"]), self.value_by_number(e["result"]))
            )
        loop.invariants = [Invariant(self.value_by_number(a), self.value_by_number(b)) for a, b in entry["invariants"]]
        for v in entry["last_values"]:
            edge = None if v["edge"] is None else loop.back_edges[_read_nonnegative(v["edge"])]
            loop.last_values.append(
                LastValueOutput(self.value_by_number(v["result"]), self.value_by_number(v["outer"]), edge)
            )
        loop.scan_outputs = [
            ScanOutput(
                self.value_by_number(s["result"]),
                self.value_by_number(s["outer"]),
                _read_int(s["axis"]),
                _read_bool(s["stack"]),
                _read_bool(s["reverse"]),
                self.optional_value_by_number(s.get("length")),
                self.optional_value_by_number(s.get("valid")),
                _read_int(s.get("part_size", 1)),
            )
            for s in entry["scan_outputs"]
        ]
        return loop

    def decode_sliced_input(self, entry: Mapping[str, Any]) -> SlicedInput:
        axis, start, end, stride, part_size = (_read_int(entry[name]) for name in _SLICE_NUMBERS)
        outer, inner = self.value_by_number(entry["outer"]), self.value_by_number(entry["inner"])
        backward = _read_bool(entry.get("from_trip_count", False))
        return SlicedInput(outer, inner, axis, start, end, stride, part_size, _read_bool(entry["drop_axis"]), backward)


def _check_definitions(graph: Graph, outer_values: frozenset[Value]) -> None:
    """Check that every value that a node reads is defined before it; data-flow analyses rely on it.

    Raises:
        ValueError: a value is read before it is computed, or is never computed.
    """
    known = outer_values.union(graph.inputs, graph.constants)
    for node in graph.nodes:
        _require_defined(known, node.inputs, node)
        outputs = [value for value in node.outputs if value is not None]
        if not known.isdisjoint(outputs) or len(set(outputs)) != len(outputs):
            raise ValueError(f"{node.describe()} computes a value that is already defined")
        for _, body in bodies(node):
            _check_definitions(body, known)
        if isinstance(node, Loop):
            _check_loop(node, known)
        elif isinstance(node, If) and any(len(body.outputs) != len(node.outputs) for _, body in bodies(node)):
            raise ValueError(f"{node.describe()} has other outputs than its branches")
        known = known.union(outputs)
    _require_defined(known, graph.outputs, graph)
    if graph.output_names and len(graph.output_names) != len(graph.outputs):
        raise ValueError(f"there are {len(graph.output_names)} names for {len(graph.outputs)} outputs")


def _check_loop(loop: Loop, known: frozenset[Value]) -> None:
    outputs, params = set(loop.outputs), set(loop.body.inputs)
    inner = known.union(own_values(loop.body))
    sliced = [*loop.sliced_inputs, *(e.initial for e in loop.back_edges if isinstance(e.initial, SlicedInput))]
    _require_defined(known, [loop.trip_count, loop.initial_condition], loop)
    _require_defined(known, [e.initial for e in loop.back_edges if isinstance(e.initial, Value)], loop)
    _require_defined(known, [*(s.outer for s in sliced), *(i.outer for i in loop.invariants)], loop)
    _require_defined(params, [loop.condition_input, loop.iteration, *(e.param for e in loop.back_edges)], loop)
    _require_defined(params, [*(s.inner for s in sliced), *(i.inner for i in loop.invariants)], loop)
    _require_defined(inner, [loop.condition, loop.ignored_condition, *(e.result for e in loop.back_edges)], loop)
    _require_defined(inner, [*(v.result for v in loop.last_values), *(s.result for s in loop.scan_outputs)], loop)
    for ports, values in ((loop.input_ports, loop.inputs), (loop.output_ports, loop.outputs)):
        if ports and len(ports) != len(values):
            raise ValueError(f"{loop.describe()} has {len(ports)} ports for {len(values)} values")
    _require_defined(known, [s.length for s in loop.scan_outputs], loop)
    _require_defined({s.inner for s in sliced}, [s.valid for s in loop.scan_outputs], loop)
    if (loop.condition_node_count or 0) > len(loop.body.nodes) or (
        loop.condition_node_count is not None and loop.condition is None
    ):
        raise ValueError(f"{loop.describe()} has a wrong number of condition nodes")
    _require_defined(outputs, [*(v.outer for v in loop.last_values), *(s.outer for s in loop.scan_outputs)], loop)


def _require_defined(known: Collection[Value | None], read: Iterable[Value | None], reader: object) -> None:
    for value in read:
        if value is not None and value not in known:
            raise ValueError(f"{reader} reads '{value.name}', which is not defined")


def _read_nonnegative(value: Any) -> int:
    if _read_int(value) < 0:
        raise ValueError(f"{value} is not a nonnegative integer")
    return int(value)


def _read_int(value: Any) -> int:
    if type(value) is not int or abs(value) > 1 << 63:
        raise ValueError(f"{value!r:.60} is not an integer")
    return value


def _read_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.60} is not true or false")
    return value


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is not a string")
    return value


def _read_dim(value: Any) -> Dim:
    return value if value is None or isinstance(value, str) else _read_int(value)


def _read_type(entry: Mapping[str, Any]) -> ValueType:
    if "sequence" in entry:
        return SequenceType(_read_type(entry["sequence"]))
    if "optional" in entry:
        return OptionalType(_read_type(entry["optional"]))
    name = entry["dtype"]
    dtype = None if name is None else dtype_of("object" if name == "string" else name)
    shape = None if entry["shape"] is None else tuple(map(_read_dim, entry["shape"]))
    bounds = {
        _read_nonnegative(axis): (_read_nonnegative(low), None if high is None else _read_nonnegative(high))
        for axis, low, high in entry.get("bounds", ())
    }
    return TensorType(dtype, shape, bounds)


def _read_origin(node: Mapping[str, Any]) -> Origin:
    """The origin of a node; older formats have only ``model.py:12``."""
    entry = node.get("source", {})
    if "origin" in node and not entry:
        file, _, number = _read_text(node["origin"]).rpartition(":")
        return Origin(file, int(number), script=True) if file and number.isdecimal() else UNKNOWN_ORIGIN
    known = {name: _read_text(entry[name]) for name in _ORIGIN_TEXTS if name in entry}
    scopes = tuple(map(_read_text, entry.get("scopes", ())))
    callers = tuple((_read_text(file), _read_nonnegative(line)) for file, line in entry.get("callers", ()))
    line, script = _read_nonnegative(entry.get("line", 0)), _read_bool(entry.get("script", False))
    return Origin(line=line, scopes=scopes, callers=callers, script=script, **known) if entry else UNKNOWN_ORIGIN


def _read_array(entry: Mapping[str, Any]) -> Array:
    text = entry["data"]
    data = text if entry["dtype"] == "string" else base64.b64decode(text, validate=True)
    array = decode_value(_read_text(entry["dtype"]), tuple(map(_read_nonnegative, entry["shape"])), data)
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{entry['dtype']} is not a tensor type")
    return array


def _read_attribute(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_read_attribute(element) for element in entry]
    if not isinstance(entry, dict):
        return entry
    ((kind, value),) = entry.items()
    match kind:
        case "float":
            return float(value)
        case "bytes":
            return base64.b64decode(value)
        case "array":
            if "data" in value:
                return _read_array(value)
            return OmittedArray(_read_text(value["dtype"]), tuple(map(_read_nonnegative, value["shape"])))
        case "map":
            return {key: _read_attribute(element) for key, element in value.items()}
        case "type":
            return _read_type(value)
    return value
