"""Writes small IR files, and checks the graphs that are read from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from loopdbg.runtime.graph import Graph, Loop, SlicedInput, TensorType, Value, bodies

PRECISION = {"f8e5m2": "F8E5M2", "f32": "FP32", "f64": "FP64", "i64": "I64", "i32": "I32", "boolean": "BOOL"}
ELEMENT_TYPE = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32", "bool": "boolean"}
TRUE = np.array(True)

Source = int | tuple[int, int]


class IrNetBuilder:
    """Writes one graph. A layer's ports are numbered, inputs first; ``(layer, port)`` is an output port."""

    def __init__(self, blob: bytearray | None = None) -> None:
        self.blob = bytearray() if blob is None else blob
        self.layers: list[str] = []
        self.edges: list[str] = []
        self.first_output: list[int] = []

    def body_builder(self) -> IrNetBuilder:
        """A builder of a body, with the same ``.bin``."""
        return IrNetBuilder(self.blob)

    def layer(
        self,
        type: str,
        sources: Sequence[Source | None] = (),
        outputs: int = 1,
        *,
        name: str | None = None,
        version: str = "opset1",
        data: str = "",
        element: str = "f32",
        shape: str = "",
        names: str = "",
        extra: str = "",
        attributes: str = "",
    ) -> int:
        id, first = len(self.layers), len(sources)
        dims = "".join(f"<dim>{dim.replace('?', '-1')}</dim>" for dim in shape.split(",") if dim)
        tensor = f' names="{names}"' if names else ""
        inputs = "".join(f'<port id="{k}"/>' for k in range(first))
        result = "".join(
            f'<port id="{first + k}" precision="{PRECISION[element]}"{tensor}>{dims}</port>' for k in range(outputs)
        )
        self.layers.append(
            f'<layer id="{id}" name="{name or f"{type}_{id}"}" type="{type}" version="{version}"{attributes}>'
            f"<data {data}/><input>{inputs}</input><output>{result}</output>{extra}</layer>"
        )
        for port, source in enumerate(sources):
            if source is not None:
                start, out = source if isinstance(source, tuple) else (source, self.first_output[source])
                self.add_edge(start, out, id, port)
        self.first_output.append(first)
        return id

    def add_edge(self, start: int, out: int, end: int, into: int) -> None:
        self.edges.append(f'<edge from-layer="{start}" from-port="{out}" to-layer="{end}" to-port="{into}"/>')

    def parameter(self, shape: str = "1", element: str = "f32", **more: Any) -> int:
        data = f'shape="{shape}" element_type="{element}"'
        return self.layer("Parameter", data=data, element=element, shape=shape, **more)

    def constant(self, array: Any, type: str = "Const", **more: Any) -> int:
        array = np.asarray(array)
        element, shape = ELEMENT_TYPE[array.dtype.name], ",".join(map(str, array.shape))
        data = f'element_type="{element}" shape="{shape}" offset="{len(self.blob)}" size="{array.nbytes}"'
        self.blob += array.tobytes()
        return self.layer(type, data=data, element=element, shape=shape, **more)

    def result(self, source: Source, **more: Any) -> int:
        return self.layer("Result", [source], 0, **more)

    def save(self, folder: Path) -> Path:
        """Write the graph as ``model.xml`` with its ``.bin``."""
        return save_net(folder, self)

    def text(self) -> str:
        return f"<layers>{chr(10).join(self.layers)}</layers>\n<edges>{chr(10).join(self.edges)}</edges>"


def save_net(folder: Path, net: IrNetBuilder | str, version: int = 11, blob: bytes | None = None) -> Path:
    """Write a net (or any text) as ``model.xml``, with its ``.bin`` in the same folder."""
    path = folder / "model.xml"
    text = net
    if isinstance(net, IrNetBuilder):
        text = f'<?xml version="1.0"?>\n<net name="model" version="{version}">\n{net.text()}\n</net>\n'
        blob = bytes(net.blob) if blob is None else blob
    path.write_text(str(text))
    if blob is not None:
        path.with_suffix(".bin").write_bytes(blob)
    return path


def input_map_entry(external: int, internal: int, more: str = "") -> str:
    return f'<input external_port_id="{external}" internal_layer_id="{internal}" {more}/>'


def output_map_entry(external: int, internal: int, more: str = "") -> str:
    return f'<output external_port_id="{external}" internal_layer_id="{internal}" {more}/>'


def back_edges(*edges: tuple[int, int]) -> str:
    return "".join(f'<edge from-layer="{start}" to-layer="{end}"/>' for start, end in edges)


def loop_sections(body: IrNetBuilder, port_map: Sequence[str], edges: str = "") -> str:
    return (
        f"<port_map>{chr(10).join(port_map)}</port_map>\n<back_edges>{edges}</back_edges>\n<body>{body.text()}</body>"
    )


SaveNet = Callable[..., Path]
TextReplacement = tuple[str, str]


def only_loop(graph: Graph) -> Loop:
    [loop] = [node for node in graph.nodes if isinstance(node, Loop)]
    return loop


def tensor_type(value: Value) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


def check_consistent(graph: Graph, outer: frozenset[Value] = frozenset()) -> None:
    """Every value is defined before it is used; inner graphs capture outer values, never the other way round."""
    seen = set(outer) | set(graph.inputs) | set(graph.constants)
    for node in graph.nodes:
        assert all(value is None or value in seen for value in node.inputs), node.describe()
        for _, inner in bodies(node):
            check_consistent(inner, frozenset(seen))
        if isinstance(node, Loop):
            inner_seen = set(node.body.inputs) | set(node.body.constants)
            inner_seen |= {value for n in node.body.nodes for value in n.outputs if value is not None}
            sources = [edge.initial for edge in node.back_edges]
            outers = [s.outer if isinstance(s, SlicedInput) else s for s in (*sources, *node.sliced_inputs)]
            assert all(value in seen for value in (*outers, *(i.outer for i in node.invariants)))
            results = [*(e.result for e in node.back_edges), *(o.result for o in node.last_values)]
            results += [o.result for o in node.scan_outputs]
            assert all(value in inner_seen | seen for value in results)
            fed = [*(e.param for e in node.back_edges), *(s.inner for s in node.sliced_inputs)]
            fed += [*(i.inner for i in node.invariants), *([node.iteration] if node.iteration else [])]
            assert sorted(map(id, fed)) == sorted(map(id, node.body.inputs))
            filled = [*(o.outer for o in node.last_values), *(o.outer for o in node.scan_outputs)]
            assert sorted(map(id, filled)) == sorted(map(id, node.outputs))
        seen |= {value for value in node.outputs if value is not None}
    assert all(value in seen for value in graph.outputs)


def edge_element(text: str) -> str:
    a, b, c, d = text.split()
    return f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>'


def running_sum(
    sliced: str = 'axis="0"',
    joined: str = 'axis="0"',
    shape: str = "4,2",
    edges: Callable[[int, int], str] = lambda result, parameter: back_edges((result, parameter)),
) -> IrNetBuilder:
    """x [4,2] is sliced; total += slice; out: all totals, the last total."""
    net = IrNetBuilder()
    x, start = net.parameter(shape, name="x"), net.parameter("1,2", name="start")
    body = net.body_builder()
    part, total = body.parameter("1,2", name="part"), body.parameter("1,2", name="total")
    new = body.layer("Add", [part, total], name="new", shape="1,2")
    result = body.result(new)
    parts = loop_sections(
        body,
        [
            input_map_entry(0, part, sliced),
            input_map_entry(1, total),
            output_map_entry(2, result, joined),
            output_map_entry(3, result),
        ],
        edges(result, total),
    )
    loop = net.layer("TensorIterator", [x, start], 2, name="ti", shape=shape, extra=parts)
    net.result((loop, 2))
    net.result((loop, 3))
    return net


def three_body_inputs(names: str) -> IrNetBuilder:
    """A body that adds a slice of the first input to the second and to the last one; they may be the same input."""
    net = IrNetBuilder()
    inputs = [net.parameter("4,2" if name == "x" else "1,2", name=name) for name in names]
    body = net.body_builder()
    part, q, r = (body.parameter("1,2", name=name) for name in ("part", "q", "r"))
    total = body.layer("Add", [body.layer("Add", [part, q], shape="1,2"), r], shape="1,2")
    entries = [
        input_map_entry(0, part, 'axis="0"'),
        input_map_entry(1, q),
        input_map_entry(len(inputs) - 1, r),
        output_map_entry(len(inputs), body.result(total), 'axis="0"'),
    ]
    loop = net.layer("TensorIterator", inputs, shape="4,2", extra=loop_sections(body, entries))
    net.result((loop, len(inputs)))
    return net


def joined_parts(rows: int, part_size: int, step: int = 1, is_loop: bool = False) -> Callable[[], IrNetBuilder]:
    """x [4,2] is sliced by one row, and each iteration gives ``rows`` rows, joined with this ``part_size``."""

    def build() -> IrNetBuilder:
        net = IrNetBuilder()
        head = [net.constant(np.int64(4)), net.constant(TRUE)] if is_loop else []
        x = net.parameter("4,2", name="x")
        body = net.body_builder()
        part = body.parameter("1,2", name="part")
        new = body.layer("Concat", [part] * rows, shape=f"{rows},2", data='axis="0"')
        ends = "" if step > 0 else 'start="-1" end="0"'
        joined = f'axis="0" part_size="{part_size}" stride="{step * part_size}" {ends}'
        entries = [
            input_map_entry(len(head), part, 'axis="0"'),
            output_map_entry(len(head) + 1, body.result(new), joined),
        ]
        if is_loop:
            entries.append(
                output_map_entry(-1, body.result(body.constant(np.array([True]))), 'purpose="execution_condition"')
            )
        kind, version = ("Loop", "opset5") if is_loop else ("TensorIterator", "opset1")
        parts = loop_sections(body, entries)
        result = net.layer(kind, [*head, x], version=version, shape=f"{4 * rows},2", extra=parts)
        net.result((result, len(head) + 1))
        return net

    return build


def counting_loop(
    extra_entries: Sequence[str] = (),
    iteration: str | None = 'purpose="current_iteration"',
    condition: str = 'purpose="execution_condition"',
    iteration_type: tuple[str, str] = ("", "i64"),
    more_edges: Sequence[tuple[int, int]] = (),
    carried_iteration: bool = False,
    version: str = "opset5",
    loop_inputs: Callable[[Sequence[int]], Sequence[int | None]] = lambda inputs: inputs,
) -> IrNetBuilder:
    """A body of layers i (0), total (1), step (2), a sum (3), its Result (4), a Const (5) and its Result (6)."""
    net = IrNetBuilder()
    trips, true = net.constant(np.int64(3), name="trips"), net.constant(TRUE, name="true")
    start, step = net.parameter("1", name="start"), net.parameter("1", name="step")
    body = net.body_builder()
    body.parameter(*iteration_type, name="i")
    total, inner_step = body.parameter("1", name="total"), body.parameter("1", name="step")
    result = body.result(body.layer("Add", [total, inner_step], name="new", shape="1"))
    keep = body.result(body.constant(TRUE, name="keep"))
    edges = [(result, total), *more_edges]
    if carried_iteration:
        following = body.layer("Convert", [0], element=iteration_type[1], shape=iteration_type[0])
        edges.append((body.result(following), 0))
    entries = [
        input_map_entry(2, total),
        input_map_entry(3, inner_step),
        output_map_entry(4, result),
        output_map_entry(5, result, 'axis="0"'),
    ]
    entries += [] if iteration is None else [input_map_entry(-1, 0, iteration)]
    entries += [output_map_entry(-1, keep, condition), *extra_entries]
    parts = loop_sections(body, entries, back_edges(*edges))
    inputs = loop_inputs([trips, true, start, step])
    loop = net.layer("Loop", inputs, 2, name="loop", version=version, shape="1", extra=parts)
    net.result((loop, 4))
    net.result((loop, 5))
    return net


def if_net(port: int = 3, condition_into: str = "", ids: tuple[int, int] = (1, 2)) -> IrNetBuilder:
    net = IrNetBuilder()
    c, x, y = net.parameter("", "boolean", name="c"), net.parameter(name="x"), net.parameter(name="y")
    then, other = net.body_builder(), net.body_builder()
    tx = then.parameter(name="tx")
    tr = then.result(then.layer("Add", [tx, then.constant(np.float32(1))], name="plus"))
    ey = other.parameter(name="ey")
    er = other.result(other.layer("Relu", [ey], name="relu"))
    extra = (
        f"<then_port_map>{input_map_entry(ids[0], tx)}{output_map_entry(port, tr)}{condition_into}</then_port_map>"
        f"<else_port_map>{input_map_entry(ids[1], ey)}{output_map_entry(port, er)}</else_port_map>"
        f"<then_body>{then.text()}</then_body><else_body>{other.text()}</else_body>"
    )
    net.result(net.layer("If", [c, x, y], name="if", version="opset8", extra=extra))
    return net


def specification_example(steps: int = 25, size: int = 512, hidden: int = 256) -> str:
    """The structure of TensorIterator-1's second example: an LSTMCell of five inputs, constants and Parameters typed by
    their ports alone, Reshapes without attributes.

    The ``.bin`` has two int64, the cell's weights [4H, I + H] and biases, and three int64.
    """

    def ports(group: str, *numbered: tuple[int, str, str]) -> str:
        inner = "".join(
            f'<port id="{id}"{f" precision={chr(34)}{p}{chr(34)}" if p else ""}>'
            + "".join(f"<dim>{dim}</dim>" for dim in dims.split())
            + "</port>"
            for id, p, dims in numbered
        )
        return f"<{group}>{inner}</{group}>"

    def layer(id: int, type: str, *parts: str, version: str = "opset1") -> str:
        return f'<layer id="{id}" type="{type}" version="{version}">{"".join(parts)}</layer>\n'

    f, i = "FP32", "I64"
    row, state = f"1 {size}", f"1 {hidden}"
    width, biases = 4 * hidden * (size + hidden) * 4, 4 * hidden * 4
    body = [
        layer(0, "Parameter", ports("output", (0, f, f"1 {row}"))),
        layer(1, "Const", '<data offset="0" size="16"/>', ports("output", (1, i, "2"))),
        layer(2, "Reshape", ports("input", (0, "", f"1 {row}"), (1, "", "2")), ports("output", (2, f, row))),
        layer(3, "Parameter", ports("output", (0, f, state))),
        layer(4, "Parameter", ports("output", (0, f, state))),
        layer(
            5, "Const", f'<data offset="16" size="{width}"/>', ports("output", (1, f, f"{4 * hidden} {size + hidden}"))
        ),
        layer(6, "Const", f'<data offset="{16 + width}" size="{biases}"/>', ports("output", (1, f, f"{4 * hidden}"))),
        layer(
            7,
            "LSTMCell",
            f'<data hidden_size="{hidden}"/>',
            ports(
                "input",
                *(
                    (k, "", d)
                    for k, d in enumerate((row, state, state, f"{4 * hidden} {size + hidden}", f"{4 * hidden}"))
                ),
            ),
            ports("output", (5, f, state), (6, f, state)),
        ),
        layer(8, "Result", ports("input", (0, "", state))),
        layer(9, "Result", ports("input", (0, "", state))),
        layer(10, "Const", f'<data offset="{16 + width + biases}" size="24"/>', ports("output", (1, i, "3"))),
        layer(11, "Reshape", ports("input", (0, "", state), (1, "", "3")), ports("output", (2, f, f"1 {state}"))),
        layer(12, "Result", ports("input", (0, "", f"1 {state}"))),
    ]
    edges = ["0 0 2 0", "1 1 2 1", "2 2 7 0", "3 0 7 1", "4 0 7 2", "5 1 7 3", "6 1 7 4"]
    edges += ["7 6 8 0", "7 5 9 0", "7 5 11 0", "10 1 11 1", "11 2 12 0"]
    iterator = layer(
        3,
        "TensorIterator",
        ports("input", (0, "", f"1 {steps} {size}"), (1, "", state), (2, "", state)),
        ports("output", (3, f, f"1 {steps} {hidden}")),
        "<port_map>",
        input_map_entry(0, 0, 'axis="1" start="0"')
        + input_map_entry(1, 3)
        + input_map_entry(2, 4)
        + output_map_entry(3, 12, 'axis="1"'),
        f"</port_map><back_edges>{back_edges((8, 4), (9, 3))}</back_edges>",
        f"<body><layers>{''.join(body)}</layers><edges>{''.join(map(edge_element, edges))}</edges></body>",
    )
    outer = [
        layer(k, "Parameter", ports("output", (0, f, d))) for k, d in enumerate((f"1 {steps} {size}", state, state))
    ]
    result = layer(4, "Result", ports("input", (0, "", f"1 {steps} {hidden}")))
    links = "".join(map(edge_element, ("0 0 3 0", "1 0 3 1", "2 0 3 2", "3 3 4 0")))
    return (
        f'<net name="spec" version="10"><layers>{"".join(outer)}{iterator}{result}</layers><edges>{links}</edges></net>'
    )


def carried_net(sources: Sequence[int | str], order: Sequence[int] = (0, 1, 2), element: str = "f32") -> IrNetBuilder:
    """Three trips; carried value k becomes what ``sources[k]`` denotes: a carried value itself, or "+" for k + 10."""
    net = IrNetBuilder()
    head = [net.constant(np.int64(3)), net.constant(TRUE)]
    count = len(sources)
    outer = [net.parameter("1", element, name=f"x{k}") for k in range(count)]
    body = net.body_builder()
    inner = [body.parameter("1", element, name=f"p{k}") for k in range(count)]
    ten = body.constant(np.array([10], {"f32": "f4", "i64": "i8", "f64": "f8"}[element]))
    outcomes = [
        body.layer("Add", [inner[k], ten], element=element, shape="1") if s == "+" else inner[int(s)]
        for k, s in enumerate(sources)
    ]
    results = [body.result(value) for value in outcomes]
    keep = body.result(body.constant(np.array([True])))
    order = list(order[:count])
    entries = [input_map_entry(2 + order[k], inner[k]) for k in range(count)]
    entries += [output_map_entry(2 + count + k, results[k]) for k in range(count)]
    entries += [output_map_entry(-1, keep, 'purpose="execution_condition"')]
    parts = loop_sections(body, entries, back_edges(*zip(results, inner, strict=True)))
    inputs = [*head, *(outer[order.index(k)] for k in range(count))]
    loop = net.layer("Loop", inputs, count, version="opset5", element=element, shape="1", extra=parts)
    for k in range(count):
        net.result((loop, 2 + count + k))
    return net
