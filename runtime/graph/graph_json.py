"""A loop graph as JSON and back: its structure, names and ports, and the constants that are small.

Values are numbered, since two of one name in two scopes are two values. Large constants are left out: the graph that is
read back can be shown and explained, but not run.
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

#: Of the JSON's form; what has another one is not read.
FORMAT_VERSION = 1
#: Constants and attributes of more bytes are left out.
MAX_INLINE_BYTES = 1 << 16
#: The parts of an origin.
_ORIGIN_FIELDS = tuple(part.name for part in fields(Origin))


@record(frozen=True)
class OmittedArray:
    """Stands for an attribute that was too large to be kept."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)} (not kept)"


def graph_to_json(graph: Graph, small: int = MAX_INLINE_BYTES) -> str:
    """The text for a graph; constants of more than ``small`` bytes are left out."""
    writer = _GraphEncoder(small)
    root = writer.graph(graph)
    return json.dumps({"version": FORMAT_VERSION, "values": writer.values, "graph": root}, separators=(",", ":"))


def graph_digest(graph: Graph) -> str:
    """What tells one graph from another: its structure and what its constants hold, wherever they were read from."""
    writer = _GraphHasher(0)
    root = writer.graph(graph)
    told = json.dumps([writer.values, root], separators=(",", ":"))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def graph_from_json(text: str) -> Graph:
    """The graph again. A constant that was left out is in ``constants`` and holds no data.

    Raises:
        ModelError: the text is no graph, or one in another version of the form.
    """
    try:
        told = json.loads(text)
        if not isinstance(told, dict) or "version" not in told:
            raise ModelError("the text is no loop graph")
        if told["version"] != FORMAT_VERSION:
            raise ModelError(f"the loop graph has form {told['version']}; this program reads form {FORMAT_VERSION}")
        graph = _GraphDecoder(told["values"]).graph(told["graph"])
        _check_graph(graph, frozenset())
        return graph
    except LoopdbgError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ModelError(f"the loop graph is damaged: {one_line(error)}") from None


class _GraphEncoder:
    def __init__(self, small: int) -> None:
        self.max_inline_bytes = small
        self.values: list[dict[str, Any]] = []
        self._numbers: dict[Value, int] = {}

    def value(self, value: Value | None) -> int | None:
        if value is None:
            return None
        if value not in self._numbers:
            self._numbers[value] = len(self.values)
            told: dict[str, Any] = {"name": value.name}
            if value.type != TensorType():
                told["type"] = _encode_type(value.type)
            if value.constant is not None:
                told["constant"] = self.array(value.constant)
            self.values.append(told)
        return self._numbers[value]

    def array(self, array: Array) -> dict[str, Any]:
        told: dict[str, Any] = {"dtype": "string" if array.dtype.kind in "OUST" else array.dtype.name}
        told["shape"] = list(array.shape)
        if array.nbytes <= self.max_inline_bytes:
            data = encode_value(array).data
            told["data"] = data if isinstance(data, str) else base64.b64encode(data or b"").decode()
        return told

    def graph(self, graph: Graph) -> dict[str, Any]:
        told: dict[str, Any] = {
            "name": graph.name,
            "system": graph.system.value,
            "inputs": [self.value(v) for v in graph.inputs],
            "constants": [self.value(v) for v in graph.constants],
            "nodes": [self.node(n) for n in graph.nodes],
            "outputs": [self.value(v) for v in graph.outputs],
        }
        if graph.output_names:
            told["output_names"] = list(graph.output_names)
        if graph.opsets:
            told["opsets"] = dict(graph.opsets)
        if graph.variables:
            told["variables"] = [
                {"name": one.name}
                | {part: self.value(value) for part in _VARIABLE_PARTS if (value := getattr(one, part)) is not None}
                for one in graph.variables
            ]
        if graph.defaults:
            told["defaults"] = {name: self.array(np.asarray(array)) for name, array in graph.defaults.items()}
        if graph.notes:
            told["notes"] = list(graph.notes)
        if graph.excluded:
            told["excluded"] = [[one.subject, one.reason, list(one.outputs)] for one in graph.excluded]
        return told

    def node(self, node: Node) -> dict[str, Any]:
        told: dict[str, Any] = {
            "name": node.name,
            "op": node.op_type,
            "domain": node.domain,
            "version": node.version,
            "in": [self.value(v) for v in node.inputs],
            "out": [self.value(v) for v in node.outputs],
        }
        if source := self.source(node.origin):
            told["source"] = source
        if isinstance(node, Loop):
            told["loop"] = self.loop(node)
        elif isinstance(node, If):
            told["then"], told["else"] = self.graph(node.then_branch), self.graph(node.else_branch)
        elif isinstance(node, Operation) and node.attributes:
            told["attributes"] = {name: self.attribute(value) for name, value in node.attributes.items()}
        return told

    def source(self, origin: Origin) -> dict[str, Any]:
        """What is known of an origin."""
        return {name: value for name in _ORIGIN_FIELDS if (value := getattr(origin, name))}

    def loop(self, loop: Loop) -> dict[str, Any]:
        return {
            "body": self.graph(loop.body),
            "system": loop.system.value,
            **{name: self.value(getattr(loop, name)) for name in _LOOP_VALUES},
            **{name: getattr(loop, name) for name in (*_LOOP_FLAGS, *_LOOP_PORTS, "fixed_trips", "notes")},
            **({"made_of": loop.derived_from} if loop.derived_from else {}),
            **({} if loop.condition_node_count is None else {"tested": loop.condition_node_count}),
            "sliced_inputs": [self.sliced(s) for s in loop.sliced_inputs],
            "back_edges": [
                {
                    "initial": self.value(e.initial) if isinstance(e.initial, Value) else self.sliced(e.initial),
                    "param": self.value(e.param),
                    "result": self.value(e.result),
                }
                for e in loop.back_edges
            ],
            "invariants": [[self.value(i.outer), self.value(i.inner)] for i in loop.invariants],
            "last_values": [
                {
                    "result": self.value(v.result),
                    "outer": self.value(v.outer),
                    "edge": next((k for k, e in enumerate(loop.back_edges) if e is v.edge), None),
                }
                for v in loop.last_values
            ],
            "scan_outputs": [
                {
                    "result": self.value(s.result),
                    "outer": self.value(s.outer),
                    "axis": s.axis,
                    "stack": s.stack,
                    "reverse": s.reverse,
                    **({} if s.length is None else {"length": self.value(s.length)}),
                    **({} if s.valid is None else {"valid": self.value(s.valid)}),
                    **({} if s.part_size == 1 else {"part_size": s.part_size}),
                }
                for s in loop.scan_outputs
            ],
        }

    def sliced(self, sliced: SlicedInput) -> dict[str, Any]:
        return {
            "outer": self.value(sliced.outer),
            "inner": self.value(sliced.inner),
            **{name: getattr(sliced, name) for name in (*_SLICE_NUMBERS, "drop_axis")},
            **({"from_trip_count": True} if sliced.from_trip_count else {}),
        }

    def attribute(self, value: Any) -> Any:
        """JSON has no bytes, arrays or NaN: those are objects with the word for what they are."""
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.ndarray):
            return {"array": self.array(value)}
        if isinstance(value, list | tuple):
            return [self.attribute(element) for element in value]
        if isinstance(value, Mapping):
            return {"map": {str(key): self.attribute(element) for key, element in value.items()}}
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
#: Not in traces of older versions.
_LOOP_PORTS = ("input_ports", "output_ports")
#: Of a :class:`Variable`.
_VARIABLE_PARTS = ("state", "known", "assigned", "initial")
#: Of an :class:`Origin`.
_ORIGIN_TEXTS = ("file", "code", "function", "framework_node", "traced")
#: In the order of :class:`SlicedInput`.
_SLICE_NUMBERS = ("axis", "start", "end", "stride", "part_size")


def _encode_type(kind: ValueType) -> dict[str, Any]:
    if isinstance(kind, SequenceType):
        return {"sequence": _encode_type(kind.element)}
    if isinstance(kind, OptionalType):
        return {"optional": _encode_type(kind.element)}
    dtype = None if kind.dtype is None else "string" if kind.dtype == object else kind.dtype.name
    told: dict[str, Any] = {"dtype": dtype, "shape": None if kind.shape is None else list(kind.shape)}
    if kind.bounds:
        told["bounds"] = [[axis, *limits] for axis, limits in kind.bounds.items()]
    return told


class _GraphHasher(_GraphEncoder):
    """Arrays of any size by what they hold; where code was written changes nothing."""

    def source(self, origin: Origin) -> dict[str, Any]:
        return {}

    def array(self, array: Array) -> dict[str, Any]:
        data = encode_value(array).data
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data or b""
        held = hashlib.blake2b(raw, digest_size=16).hexdigest()
        return {"dtype": array.dtype.name, "shape": list(array.shape), "held": held}


class _GraphDecoder:
    def __init__(self, values: list[dict[str, Any]]) -> None:
        self.values = [
            Value(
                _read_text(told["name"]),
                _read_type(told["type"]) if "type" in told else TensorType(),
                _read_array(told["constant"]) if "data" in told.get("constant", ()) else None,
            )
            for told in values
        ]

    def value(self, number: int) -> Value:
        return self.values[_read_nonnegative(number)]

    def optional_value(self, number: int | None) -> Value | None:
        return None if number is None else self.value(number)

    def graph(self, told: Mapping[str, Any]) -> Graph:
        return Graph(
            _read_text(told["name"]),
            [self.value(v) for v in told["inputs"]],
            [self.value(v) for v in told["outputs"]],
            [self.node(n) for n in told["nodes"]],
            [self.value(v) for v in told["constants"]],
            [_read_text(name) for name in told.get("output_names", ())],
            System(told["system"]),
            {_read_text(name): _read_nonnegative(version) for name, version in told.get("opsets", {}).items()},
            {
                # A default too large to be kept still says that the input may be left out.
                name: _read_array(array) if "data" in array else np.empty(0, dtype_of("object"))
                for name, array in told.get("defaults", {}).items()
            },
            notes=[_read_text(note) for note in told.get("notes", ())],
            excluded=[
                ExcludedItem(_read_text(what), _read_text(reason), tuple(map(_read_text, outputs)))
                for what, reason, outputs in told.get("excluded", ())
            ],
            variables=[
                Variable(
                    _read_text(one["name"]), **{part: self.value(one[part]) for part in _VARIABLE_PARTS if part in one}
                )
                for one in told.get("variables", ())
            ],
        )

    def node(self, told: Mapping[str, Any]) -> Node:
        inputs, outputs = [self.optional_value(v) for v in told["in"]], [self.optional_value(v) for v in told["out"]]
        words = (_read_text(told["name"]), _read_text(told["op"]), _read_text(told["domain"]))
        header = (*words, _read_nonnegative(told["version"]), inputs, outputs)
        source = _read_origin(told)
        if "loop" in told:
            return self.loop(Node(*header, source=source), told["loop"])
        if "then" in told:
            then, otherwise = self.graph(told["then"]), self.graph(told["else"])
            return If(*header, source=source, then_branch=then, else_branch=otherwise)
        attributes = {name: _read_attribute(value) for name, value in told.get("attributes", {}).items()}
        return Operation(*header, attributes=attributes, source=source)

    def loop(self, header: Node, told: Mapping[str, Any]) -> Loop:
        loop = Loop(**vars(header), body=self.graph(told["body"]), system=System(told["system"]))
        for name in _LOOP_VALUES:
            setattr(loop, name, self.optional_value(told[name]))
        for name in _LOOP_FLAGS:
            setattr(loop, name, _read_bool(told[name]))
        for name in _LOOP_PORTS:
            setattr(loop, name, [_read_int(port) for port in told.get(name, ())])
        trips = told["fixed_trips"]
        loop.fixed_trips = None if trips is None else _read_nonnegative(trips)
        loop.notes = [_read_text(note) for note in told["notes"]]
        loop.derived_from = _read_text(told.get("made_of", ""))
        loop.condition_node_count = None if told.get("tested") is None else _read_nonnegative(told["tested"])
        loop.sliced_inputs = [self.sliced(s) for s in told["sliced_inputs"]]
        for e in told["back_edges"]:
            initial = self.sliced(e["initial"]) if isinstance(e["initial"], dict) else self.value(e["initial"])
            loop.back_edges.append(BackEdge(initial, self.value(e["param"]), self.value(e["result"])))
        loop.invariants = [Invariant(self.value(a), self.value(b)) for a, b in told["invariants"]]
        for v in told["last_values"]:
            edge = None if v["edge"] is None else loop.back_edges[_read_nonnegative(v["edge"])]
            loop.last_values.append(LastValueOutput(self.value(v["result"]), self.value(v["outer"]), edge))
        loop.scan_outputs = [
            ScanOutput(
                self.value(s["result"]),
                self.value(s["outer"]),
                _read_int(s["axis"]),
                _read_bool(s["stack"]),
                _read_bool(s["reverse"]),
                self.optional_value(s.get("length")),
                self.optional_value(s.get("valid")),
                _read_int(s.get("part_size", 1)),
            )
            for s in told["scan_outputs"]
        ]
        return loop

    def sliced(self, told: Mapping[str, Any]) -> SlicedInput:
        axis, start, end, stride, part = (_read_int(told[name]) for name in _SLICE_NUMBERS)
        outer, inner = self.value(told["outer"]), self.value(told["inner"])
        backward = _read_bool(told.get("from_trip_count", False))
        return SlicedInput(outer, inner, axis, start, end, stride, part, _read_bool(told["drop_axis"]), backward)


def _check_graph(graph: Graph, around: frozenset[Value]) -> None:
    """What nodes read has to be there, as in any graph that a frontend made: whoever follows a value back relies on it.

    Raises:
        ValueError: something is read before it is computed, or nothing computes it.
    """
    known = around.union(graph.inputs, graph.constants)
    for node in graph.nodes:
        _require_defined(known, node.inputs, node)
        made = [value for value in node.outputs if value is not None]
        if not known.isdisjoint(made) or len(set(made)) != len(made):
            raise ValueError(f"{node.describe()} computes a value that is there already")
        for _, body in bodies(node):
            _check_graph(body, known)
        if isinstance(node, Loop):
            _check_loop(node, known)
        elif isinstance(node, If) and any(len(body.outputs) != len(node.outputs) for _, body in bodies(node)):
            raise ValueError(f"{node.describe()} has other outputs than its branches")
        known = known.union(made)
    _require_defined(known, graph.outputs, graph)
    if graph.output_names and len(graph.output_names) != len(graph.outputs):
        raise ValueError(f"there are {len(graph.output_names)} names for {len(graph.outputs)} outputs")


def _check_loop(loop: Loop, known: frozenset[Value]) -> None:
    outputs, params = set(loop.outputs), set(loop.body.inputs)
    inside = known.union(own_values(loop.body))
    sliced = [*loop.sliced_inputs, *(e.initial for e in loop.back_edges if isinstance(e.initial, SlicedInput))]
    _require_defined(known, [loop.trip_count, loop.initial_condition], loop)
    _require_defined(known, [e.initial for e in loop.back_edges if isinstance(e.initial, Value)], loop)
    _require_defined(known, [*(s.outer for s in sliced), *(i.outer for i in loop.invariants)], loop)
    _require_defined(params, [loop.condition_input, loop.iteration, *(e.param for e in loop.back_edges)], loop)
    _require_defined(params, [*(s.inner for s in sliced), *(i.inner for i in loop.invariants)], loop)
    _require_defined(inside, [loop.condition, loop.ignored_condition, *(e.result for e in loop.back_edges)], loop)
    _require_defined(inside, [*(v.result for v in loop.last_values), *(s.result for s in loop.scan_outputs)], loop)
    for ports, values in ((loop.input_ports, loop.inputs), (loop.output_ports, loop.outputs)):
        if ports and len(ports) != len(values):
            raise ValueError(f"{loop.describe()} has {len(ports)} ports for {len(values)} values")
    _require_defined(known, [s.length for s in loop.scan_outputs], loop)
    _require_defined({s.inner for s in sliced}, [s.valid for s in loop.scan_outputs], loop)
    if (loop.condition_node_count or 0) > len(loop.body.nodes) or (
        loop.condition_node_count is not None and loop.condition is None
    ):
        raise ValueError(f"{loop.describe()} is tested by nodes that are not there")
    _require_defined(outputs, [*(v.outer for v in loop.last_values), *(s.outer for s in loop.scan_outputs)], loop)


def _require_defined(known: Collection[Value | None], read: Iterable[Value | None], where: object) -> None:
    for value in read:
        if value is not None and value not in known:
            raise ValueError(f"{where} reads '{value.name}', which is not there")


def _read_nonnegative(told: Any) -> int:
    if _read_int(told) < 0:
        raise ValueError(f"{told} stands where there should be a number from 0 on")
    return int(told)


def _read_int(told: Any) -> int:
    if type(told) is not int or abs(told) > 1 << 63:
        raise ValueError(f"{told!r:.60} stands where there should be a whole number")
    return told


def _read_bool(told: Any) -> bool:
    if not isinstance(told, bool):
        raise ValueError(f"{told!r:.60} stands where there should be true or false")
    return told


def _read_text(told: Any) -> str:
    if not isinstance(told, str):
        raise ValueError(f"{told!r:.60} stands where there should be a text")
    return told


def _read_dim(told: Any) -> Dim:
    return told if told is None or isinstance(told, str) else _read_int(told)


def _read_type(told: Mapping[str, Any]) -> ValueType:
    if "sequence" in told:
        return SequenceType(_read_type(told["sequence"]))
    if "optional" in told:
        return OptionalType(_read_type(told["optional"]))
    name = told["dtype"]
    dtype = None if name is None else dtype_of("object" if name == "string" else name)
    shape = None if told["shape"] is None else tuple(map(_read_dim, told["shape"]))
    bounds = {
        _read_nonnegative(axis): (_read_nonnegative(least), None if most is None else _read_nonnegative(most))
        for axis, least, most in told.get("bounds", ())
    }
    return TensorType(dtype, shape, bounds)


def _read_origin(node: Mapping[str, Any]) -> Origin:
    """Of a node; older forms have ``model.py:12`` alone."""
    told = node.get("source", {})
    if "origin" in node and not told:
        file, _, number = _read_text(node["origin"]).rpartition(":")
        return Origin(file, int(number), script=True) if file and number.isdecimal() else UNKNOWN_ORIGIN
    known = {name: _read_text(told[name]) for name in _ORIGIN_TEXTS if name in told}
    scopes = tuple(map(_read_text, told.get("scopes", ())))
    callers = tuple((_read_text(file), _read_nonnegative(line)) for file, line in told.get("callers", ()))
    line, script = _read_nonnegative(told.get("line", 0)), _read_bool(told.get("script", False))
    return Origin(line=line, scopes=scopes, callers=callers, script=script, **known) if told else UNKNOWN_ORIGIN


def _read_array(told: Mapping[str, Any]) -> Array:
    text = told["data"]
    data = text if told["dtype"] == "string" else base64.b64decode(text, validate=True)
    array = decode_value(_read_text(told["dtype"]), tuple(map(_read_nonnegative, told["shape"])), data)
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{told['dtype']} is no type of a tensor")
    return array


def _read_attribute(told: Any) -> Any:
    if isinstance(told, list):
        return [_read_attribute(element) for element in told]
    if not isinstance(told, dict):
        return told
    ((word, value),) = told.items()
    match word:
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
