"""What is known about a model in a narrower type, as a record, text and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ...runtime.graph import MAIN
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.text import count_text, escape_unprintable
from .quantised_graph import QUANTISED_TYPE, SCHEME
from .runs import METRICS, Errors

#: Nodes and values that are listed, and characters of a node's text.
_MOST_NODES, _MOST_VALUES, _TEXT_CHARS = 15, 8, 60
#: Iterations of which the errors are printed.
_SHOWN_ITERATIONS = 6
#: A value with less headroom than this factor is listed.
_LITTLE_HEADROOM = 8.0


#: Tools that take the names of nodes that have to stay wide, and how.
_BLOCK_LIST_TEXTS: Mapping[str, str] = {
    "onnxconverter-common": "node_block_list={names!r}",
    "polygraphy": """\
import tensorrt as trt

WIDE = {names!r}


def postprocess(network):
    for layer in network:
        if layer.name in WIDE:
            layer.precision = trt.float32
            for k in range(layer.num_outputs):
                layer.set_output_type(k, trt.float32)""",
    "nncf": "ignored_scope=nncf.IgnoredScope(names={names!r})",
}
BLOCK_LISTS = tuple(_BLOCK_LIST_TEXTS)
_METRIC_TITLES = {
    "absolute": "largest error",
    "ulp": "largest error in float32's units of the last place",
    "snr": "SNR in dB",
    "cosine": "cosine similarity",
}
#: Fewer digits are those of rounding itself.
_SHOWN_DEAD_DIGITS = 0.5


@dataclass(frozen=True)
class NodePrecision:
    """A node that computes in the narrower type. ``name``: that of the node in the file. ``error``: the relative error
    of the outputs where only this node is narrow; infinite where a loop then has other iterations, and None where the
    time did not suffice. ``nested``: the node in the file is in a body or a branch."""

    name: str
    op_type: str
    loop: str
    text: str
    error: float | None = None
    nested: bool = False


@dataclass(frozen=True)
class ValuePrecision:
    """A value of a loop's body, or of the main graph, in the run in which all chosen nodes are narrow.

    ``carried``: a back edge carries it. ``errors``: relative errors by iteration; ``metrics``: those of other kinds, by
    name (absolute, ulp, snr, cosine). ``dead_digits``: the decimal digits of the type that are wrong at the end.
    ``factor``: by which the error grows
    from one iteration to the next, on average; None where it does not begin or end with an error. ``headroom``: the
    largest number of the narrower type, divided by the largest of the value. ``overflow``, ``underflow``: the first
    iteration in which the narrow run alone is not finite, or zero throughout.
    """

    name: str
    loop: str
    node: str
    carried: bool
    errors: Sequence[float]
    factor: float | None
    headroom: float
    overflow: int | None
    underflow: int | None
    metrics: Mapping[str, Sequence[float]] = field(default_factory=dict)
    dead_digits: float = 0.0

    @property
    def digits(self) -> float:
        """The decimal digits that are right at the end.

        >>> precision.values[0].digits > 2
        True
        """
        last = self.errors[-1] if self.errors else 0.0
        return math.inf if last == 0 else max(0.0, -math.log10(last))


@dataclass(frozen=True)
class FirstLoss:
    """The first error that is larger than rounding explains: of which value, the node that computes it, and where."""

    name: str
    node: str
    loop: str
    iteration: int
    error: float

    def __str__(self) -> str:
        place = "" if self.loop == MAIN else f" in iteration {self.iteration} of {self.loop}"
        return f"first error beyond rounding: {self.name} ({self.node}){place}: {self.error:.2g}"


@dataclass(frozen=True)
class WideNodes:
    """The nodes that have to stay wide for an error of ``tolerance``. ``error``: that of the run in which they are;
    ``minimal``: without any one of them the error would be larger (each was tried). ``converted_error``: that of the
    file that onnxconverter-common writes with them, in which bodies hold float16 between nodes; None: it has none."""

    tolerance: float
    nodes: tuple[NodePrecision, ...]
    error: float
    minimal: bool
    converted_error: float | None = None

    def block_list(self, tool: str = BLOCK_LISTS[0]) -> str:
        """The names of the nodes as a tool takes them.

        Args:
            tool: ``onnxconverter-common``: an argument of ``convert_float_to_float16``; ``polygraphy``: a script that
                postprocesses the network, whose precision constraints have to be obeyed; ``nncf``: an argument of
                ``nncf.quantize``, without nodes in bodies, which it leaves as they are and whose names it refuses.

        >>> precision.wide_nodes.block_list("nncf")
        "ignored_scope=nncf.IgnoredScope(names=['Mul_0'])"
        """
        names = list(dict.fromkeys(node.name for node in self.nodes if tool != "nncf" or not node.nested))
        return _BLOCK_LIST_TEXTS[tool].format(names=names)


@dataclass(frozen=True)
class Precision:
    """How a model does in a narrower type, next to the same run in float32. ``str()`` is a report.

    ``narrow_count``, ``node_count``: the nodes that compute in the narrower type, and those that could.
    ``unsupported``: nodes that cannot be run in it, which stay wide. ``iterations``: of each loop where they differ,
    those of the wide and of the narrow run. ``parted``: where the runs took other ways. ``runs``: how many were made.
    ``interrupted``: Ctrl-C ended the search.

    >>> print(model.precision(inputs, tolerance=0.01))
    newton_sqrt.onnx in float16: 10 of 10 nodes with float32 results...
    """

    model: str
    type_name: str
    narrow_count: int
    node_count: int
    outputs: Mapping[str, Errors]
    iterations: Mapping[str, tuple[int, int]]
    values: tuple[ValuePrecision, ...]
    nodes: tuple[NodePrecision, ...]
    unsupported: tuple[NodePrecision, ...] = ()
    wide_nodes: WideNodes | None = None
    first_loss: FirstLoss | None = None
    parted: str = ""
    failure: str = ""
    runs: int = 0
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object; numbers that are not finite are null.

        >>> model.precision(inputs).to_json()["outputs"]["root"]["nonfinite"]
        0
        """
        report: dict[str, Any] = _without_nonfinite(asdict(self))
        return report

    def __str__(self) -> str:
        return "\n".join(precision_lines(self))

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html


def _without_nonfinite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_nonfinite(item) for key, item in value.items()}
    return [_without_nonfinite(item) for item in value] if isinstance(value, list | tuple) else value


def precision_lines(precision: Precision, metric: str = METRICS[0], block_list: str = BLOCK_LISTS[0]) -> Iterator[str]:
    """The lines of a report. ``metric``: of the errors by iteration; ``block_list``: the format of the nodes that stay
    wide."""
    yield (
        f"{escape_unprintable(precision.model)} in {precision.type_name}: {precision.narrow_count} of "
        f"{count_text(precision.node_count, 'node')} with float32 results, next to the same run in float32"
    )
    if precision.type_name == QUANTISED_TYPE:
        yield f"  {SCHEME}"
    if precision.failure:
        yield f"  the narrow run fails: {precision.failure}"
    for name, errors in precision.outputs.items():
        yield f"  {escape_unprintable(name)}: {_errors_text(errors)}"
    for path, (wide_count, narrow_count) in precision.iterations.items():
        yield f"  {escape_unprintable(path)}: {count_text(narrow_count, 'iteration')}, {wide_count} in float32"
    if precision.parted:
        yield f"  {escape_unprintable(precision.parted)}"
    if precision.first_loss is not None:
        yield f"  {escape_unprintable(str(precision.first_loss))}"
    for node in precision.unsupported:
        yield f"  {_node_title(node)} cannot be run in {precision.type_name}: it stays wide"
    yield from _value_lines(precision, metric)
    yield from _node_lines(precision)
    if precision.wide_nodes is not None:
        yield from _wide_node_lines(precision, precision.wide_nodes, block_list)


def _errors_text(errors: Errors) -> str:
    if math.isinf(errors.absolute):
        return "a result of another shape, or none"
    nonfinite = f", {count_text(errors.nonfinite, 'number')} not finite" if errors.nonfinite else ""
    if not errors.absolute and not nonfinite:
        return "the same"
    return (
        f"largest error {errors.absolute:.2g}, relative {errors.relative:.2g}, SNR {errors.snr:.1f} dB, "
        f"cosine {errors.cosine:.6g}{nonfinite}"
    )


def _value_lines(precision: Precision, metric: str) -> Iterator[str]:
    """Values that leave the range of the type, and the errors of carried ones."""
    for kind, text in (("overflow", "is not finite"), ("underflow", "is 0 throughout")):
        affected = [value for value in precision.values if getattr(value, kind) is not None]
        if affected:
            # The main graph reads what loops leave.
            first = min(affected, key=lambda value: (value.loop == MAIN, getattr(value, kind)))
            place = f"in iteration {getattr(first, kind)} of {escape_unprintable(first.loop)}"
            yield f"  {kind}: {_value_title(first)} {text} {place}, and not in float32"
    tight = sorted((value for value in precision.values if value.headroom < _LITTLE_HEADROOM), key=lambda v: v.headroom)
    for value in tight[:_MOST_VALUES]:
        needed = f"{1 / value.headroom:.2g} times the range of {precision.type_name}"
        yield f"  headroom: {_value_title(value)} needs {needed}"
    loops = dict.fromkeys(value.loop for value in precision.values if value.carried)
    for loop in loops:
        yield ""
        title = "relative error" if metric == METRICS[0] else _METRIC_TITLES[metric]
        yield f"{title} of what loop {escape_unprintable(loop)} carries, by iteration"
        carried = [value for value in precision.values if value.carried and value.loop == loop]
        for value in carried[:_MOST_VALUES]:
            series = value.errors if metric == METRICS[0] else value.metrics.get(metric, ())
            factor = "" if value.factor is None else f"; times {value.factor:.3g} an iteration"
            dead = f"; {value.dead_digits:.1f} digits dead" if value.dead_digits >= _SHOWN_DEAD_DIGITS else ""
            yield f"  {escape_unprintable(value.name)}: {_error_series_text(series)}{factor}{dead}"


def _value_title(value: ValuePrecision) -> str:
    return escape_unprintable(f"{value.name} ({value.node})")


def _error_series_text(errors: Sequence[float]) -> str:
    shown = [f"{error:.2g}" for error in errors]
    if len(shown) > _SHOWN_ITERATIONS:
        half = _SHOWN_ITERATIONS // 2
        shown = [*shown[:half], "...", *shown[-half:]]
    return " ".join(shown)


def _node_lines(precision: Precision) -> Iterator[str]:
    measured = [node for node in precision.nodes if node.error]
    untried = sum(node.error is None for node in precision.nodes)
    if not measured and not untried:
        return
    yield ""
    yield "relative error of the outputs if this node alone is narrow"
    for node in measured[:_MOST_NODES]:
        text = node.text if len(node.text) <= _TEXT_CHARS else f"{node.text[: _TEXT_CHARS - 3]}..."
        place = f" in {node.loop.rpartition(' ▸ ')[2]}" if " ▸ " in node.loop else ""
        yield escape_unprintable(f"  {node.error:>8.2g}  {node.op_type}{place}: {text}")
    if len(measured) > _MOST_NODES:
        yield f"  and {count_text(len(measured) - _MOST_NODES, 'node')} more"
    if untried:
        reason = "interrupted" if precision.interrupted else "the time was over"
        yield f"  {count_text(untried, 'node')} not tried: {reason}"


def _wide_node_lines(precision: Precision, result: WideNodes, block_list: str) -> Iterator[str]:
    yield ""
    if not result.nodes:
        yield f"all nodes can be narrow: the error of {result.error:.2g} is within {result.tolerance:g}"
        return
    minimal = "no fewer of them suffice" if result.minimal else "fewer may suffice: the search ended early"
    yield (
        f"for an error of {result.tolerance:g} these have to stay wide, {len(result.nodes)} of "
        f"{count_text(precision.node_count, 'node')}: a run so has an error of {result.error:.2g} "
        f"({precision.runs} runs; {minimal})"
    )
    for node in result.nodes:
        yield f"  {_node_title(node)}"
    if block_list == "nncf" and any(node.nested for node in result.nodes):
        yield "nncf leaves the nodes in bodies as they are, and refuses their names"
    converted = result.converted_error
    if block_list == BLOCK_LISTS[0] and converted is not None and converted > result.tolerance:
        yield f"in bodies onnxconverter-common rounds what these read and give: an error of {converted:.2g} in its file"
    yield from result.block_list(block_list).splitlines()


def _node_title(node: NodePrecision) -> str:
    return escape_unprintable(f"{node.op_type} '{node.name}'")
