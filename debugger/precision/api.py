"""Tries a model in a narrower type: where it loses precision, and which nodes have to stay wide."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...runtime.errors import InterruptError, UsageError
from ...runtime.graph import MAIN, Graph, Loop, Node, Operation, System, Value, bodies, loops
from ...runtime.graph.producers import ProducerMap
from ...runtime.model import Data, Model
from ...runtime.text import did_you_mean
from ..compare.causes.narrow_type_headroom import largest_finite_number
from ..compare.proof.delta_debugging import smaller_sufficient_subsets
from ..describe.node_text import NodeFormatter
from ..describe.value_names import display_name
from .mixed_graph import NARROW_TYPES
from .quantised_graph import PRODUCTS, QUANTISED_TYPE
from .report import FirstLoss, NodePrecision, Precision, ValuePrecision, WideNodes
from .runs import Deadline, PrecisionRuns, ValueErrors, compare_in_lockstep

#: The decimal digits of a number: those of its significand, and of a quantised one those of 256 steps.
_DECIMAL_DIGITS = {"float16": 11 * math.log10(2), "bfloat16": 8 * math.log10(2), QUANTISED_TYPE: 8 * math.log10(2)}
#: How many units of rounding an error has to be to be more than rounding.
_BEYOND_ROUNDING = 8
#: The shares of the time for runs in which one node is narrow, and for the search of wide nodes.
_SINGLE_SHARE = 0.4


class _TimeOverError(Exception):
    """The time for a search is over."""


def try_precision(
    model: Model,
    inputs: Mapping[str, Data] | None = None,
    type_name: str = "float16",
    *,
    only: Sequence[str] = (),
    keep: Sequence[str] = (),
    tolerance: float | None = None,
    seconds: float = 30.0,
    max_iterations: int | None = None,
    save: Path | None = None,
    reports_partial: bool = False,
) -> Precision:
    """Run a model in a narrower type next to the same run in float32; see :meth:`Model.precision`. With
    ``reports_partial``, Ctrl-C ends the search for nodes as the end of the time does."""
    type_names = (*NARROW_TYPES, QUANTISED_TYPE)
    if type_name not in type_names:
        raise UsageError(f"there is no narrower type '{type_name}'; they are {', '.join(type_names)}")
    if save is not None and model.graph.system is not System.ONNX:
        raise UsageError(f"{save}: only ONNX models can be saved with nodes in {type_name}")
    trial = _Trial(model, PrecisionRuns(model, inputs or {}, type_name, max_iterations), only, keep, reports_partial)
    precision = trial.measure(seconds)
    narrow = list(trial.narrow)
    if tolerance is not None and not precision.interrupted:
        wide_nodes, precision = trial.find_wide_nodes(precision, tolerance, Deadline(seconds * (1 - _SINGLE_SHARE)))
        narrow = [node for node in narrow if node not in wide_nodes]
    if save is not None and not precision.interrupted:
        _save_mixed_model(trial.runs, narrow, save)
    return precision


class _Trial:
    """One model in one narrower type. ``narrow``: the nodes that are tried."""

    def __init__(
        self, model: Model, runs: PrecisionRuns, only: Sequence[str], keep: Sequence[str], reports_partial: bool
    ) -> None:
        self.model, self.runs = model, runs
        self._reports_partial = reports_partial
        self._interrupted = False
        kept = _nodes_matching_patterns(runs.nodes, keep, runs.type_name)
        self.narrow = [node for node in _select_nodes(runs, only) if node not in kept]
        self.unsupported: list[Operation] = []
        self._described: dict[Operation, NodePrecision] = {}
        self._formatter = NodeFormatter(ProducerMap.for_graph(model.graph))
        self._node_places = dict(_node_places(model.graph, MAIN))

    def measure(self, seconds: float) -> Precision:
        """The errors where all nodes are narrow, and where each of them is alone."""
        run = self.runs.run(self.narrow)
        while run.error is not None:
            # A node that fails in the narrower type alone has no definition in it; one that fails for its values has.
            node = next((node for node in self.narrow if node.name == run.error.node), None)
            if node is None or self.runs.run([node]).error is None:
                break
            self.unsupported.append(node)
            self.narrow.remove(node)
            run = self.runs.run(self.narrow)
        lockstep = compare_in_lockstep(self.runs, self.narrow)
        pairs = {
            path: (count, run.iterations[path])
            for path, count in self.runs.wide_run.iterations.items()
            if run.iterations.get(path, count) != count
        }
        deadline = Deadline(seconds * _SINGLE_SHARE)
        for node in self.narrow:
            error = None if deadline.passed or self._interrupted else self._error_of_single_narrow_node(node)
            self._described[node] = replace(self._node_precision(node), error=error)
        return Precision(
            self.model.name,
            self.runs.type_name,
            len(self.narrow),
            len(self.runs.nodes),
            self.runs.output_errors(run),
            pairs,
            tuple(self._value_precision(errors) for errors in lockstep.values.values()),
            tuple(sorted(self._described.values(), key=lambda node: 1.0 if node.error is None else -node.error)),
            tuple(map(self._node_precision, self.unsupported)),
            first_loss=self._first_error_beyond_rounding(lockstep.values.values()),
            parted=lockstep.parted,
            failure="" if run.error is None else str(run.error),
            runs=self.runs.count,
            interrupted=self._interrupted,
        )

    def _error_of_single_narrow_node(self, node: Operation) -> float | None:
        """The error where only this node is narrow; None after Ctrl-C."""
        try:
            return self.runs.error(self.runs.run([node]))
        except (KeyboardInterrupt, InterruptError):
            if not self._reports_partial:
                raise
            self._interrupted = True
            return None

    def find_wide_nodes(
        self, precision: Precision, tolerance: float, deadline: Deadline
    ) -> tuple[list[Operation], Precision]:
        """The smallest set of nodes that have to stay wide, and the report with it: of the nodes in the order of their
        errors the shortest beginning that suffices, and of that a subset of which none can be left out."""
        order = {node: k for k, node in enumerate(precision.nodes)}
        ranked = sorted(self.narrow, key=lambda node: order[self._described[node]])
        errors: dict[frozenset[Operation], float] = {}

        def error_of(chosen: Collection[Operation]) -> float:
            key = frozenset(chosen)
            if key not in errors:
                if deadline.passed and errors:
                    raise _TimeOverError
                errors[key] = self.runs.error(self.runs.run([node for node in self.narrow if node not in key]))
            return errors[key]

        wide_nodes, minimal = ranked, False
        try:
            low, high = 0, len(ranked)
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if error_of(ranked[:middle]) <= tolerance else (middle + 1, high)
            wide_nodes = ranked[:low]
            error_of(wide_nodes)
            for smaller in smaller_sufficient_subsets(wide_nodes, lambda nodes: error_of(nodes) <= tolerance):
                wide_nodes = list(smaller)
            minimal = True
        except _TimeOverError:
            pass
        except (KeyboardInterrupt, InterruptError):
            if not self._reports_partial:
                raise
            self._interrupted = True
        known = errors.get(frozenset(wide_nodes), 0.0)
        in_order = [node for node in self.narrow if node in wide_nodes]
        converted = None if self._interrupted else self._converter_output_error(in_order)
        result = WideNodes(tolerance, tuple(self._described[node] for node in in_order), known, minimal, converted)
        return in_order, replace(precision, wide_nodes=result, runs=self.runs.count, interrupted=self._interrupted)

    def _converter_output_error(self, wide_nodes: Sequence[Operation]) -> float | None:
        """The error of the file that onnxconverter-common writes with these nodes; None: it writes none. In bodies it
        rounds their results to float16, also where another one of them reads them, or a back edge carries them."""
        if self.runs.type_name != "float16" or self.model.graph.system is not System.ONNX:
            return None
        rounded = [node for node in wide_nodes if self._described[node].nested]
        return self.runs.error(self.runs.run([node for node in self.narrow if node not in wide_nodes], rounded))

    def _node_precision(self, node: Operation) -> NodePrecision:
        place, in_file, nested = self._node_places[node]
        text = self._formatter.assignment(node)
        text = text if in_file is node else f"{text}, of {in_file.op_type} '{in_file.name}'"
        return NodePrecision(in_file.name, node.op_type, place, text, nested=nested)

    def _value_precision(self, errors: ValueErrors) -> ValuePrecision:
        relative = errors.by_metric["relative"]
        largest = math.inf if self.runs.type_name == QUANTISED_TYPE else largest_finite_number(self.runs.type_name)
        producer = self._formatter.origins.get(errors.value)
        return ValuePrecision(
            display_name(errors.value),
            errors.loop,
            "" if producer is None else f"{producer.op_type} '{producer.name}'",
            errors.value in self._back_edge_results,
            tuple(relative),
            _growth_factor(relative),
            largest / errors.largest if errors.largest else math.inf,
            errors.overflow,
            errors.underflow,
            {name: tuple(series) for name, series in errors.by_metric.items() if name != "relative"},
            _wrong_digits(relative[-1] if relative else 0.0, self.runs.type_name),
        )

    def _first_error_beyond_rounding(self, values: Iterable[ValueErrors]) -> FirstLoss | None:
        """The first error beyond rounding; values are in the order in which they are computed. Loops come first."""
        threshold = _BEYOND_ROUNDING * 10.0 ** -_DECIMAL_DIGITS[self.runs.type_name]
        losses = []
        for order, errors in enumerate(values):
            hits = (k for k, error in enumerate(errors.by_metric["relative"]) if error > threshold)
            iteration = next(hits, None)
            if iteration is not None:
                losses.append((errors.loop == MAIN, iteration, order, errors))
        if not losses:
            return None
        _, iteration, _, errors = min(losses, key=lambda loss: loss[:3])
        value = self._value_precision(errors)
        return FirstLoss(value.name, value.node, value.loop, iteration, value.errors[iteration])

    @property
    def _back_edge_results(self) -> set[Value]:
        return {edge.result for loop in loops(self.model.graph) for edge in loop.back_edges}


def _select_nodes(runs: PrecisionRuns, only: Sequence[str]) -> list[Operation]:
    """The nodes that are tried.

    Raises:
        UsageError: there are none.
    """
    if only or runs.type_name != QUANTISED_TYPE:
        return _nodes_matching_patterns(runs.nodes, only or ["*"], runs.type_name)
    products = [node for node in runs.nodes if node.op_type in PRODUCTS]
    if not products:
        raise UsageError(
            f"there is no product or convolution; name the nodes whose operands {QUANTISED_TYPE} quantises"
        )
    return products


def _nodes_matching_patterns(nodes: Sequence[Operation], patterns: Sequence[str], type_name: str) -> list[Operation]:
    """The nodes whose names match any of the patterns.

    Raises:
        UsageError: a pattern matches none.
    """
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(node.name, pattern) for node in nodes):
            if pattern == "*":
                raise UsageError(f"no node computes float32 from float32, so that nothing can be in {type_name}")
            hint = did_you_mean(pattern, [node.name for node in nodes])
            raise UsageError(f"no node that computes in float32 is named '{pattern}'{hint}")
    return [node for node in nodes if any(fnmatch.fnmatchcase(node.name, pattern) for pattern in patterns)]


def _node_places(
    graph: Graph, path: str, made_of: Node | None = None, nested: bool = False
) -> Iterator[tuple[Operation, tuple[str, Node, bool]]]:
    """All nodes with the paths of the loops around them, the nodes in the file that they are or are part of, and
    whether those are in a body or a branch."""
    for node in graph.nodes:
        in_file: Node = made_of or graph.expanded_from.get(node) or node
        if isinstance(node, Operation):
            yield node, (path, in_file, nested)
        for _, inner in bodies(node):
            inside = f"{path} ▸ {node.name}" if isinstance(node, Loop) else path
            is_file = in_file is node
            yield from _node_places(inner, inside, None if is_file else in_file, nested or is_file)


def _growth_factor(errors: Sequence[float]) -> float | None:
    """By which the error grows from one iteration to the next, from the first one with an error to the last."""
    known = [(k, error) for k, error in enumerate(errors) if 0 < error < math.inf]
    if len(known) < 2 or known[-1][0] != len(errors) - 1:
        return None
    (first, begin), (last, end) = known[0], known[-1]
    return float(np.exp(math.log(end / begin) / (last - first)))


def _wrong_digits(error: float, type_name: str) -> float:
    """The decimal digits of a type that are wrong with a relative error."""
    digits = _DECIMAL_DIGITS[type_name]
    return 0.0 if error == 0 else min(digits, max(0.0, digits + math.log10(error))) if error < math.inf else digits


def _save_mixed_model(runs: PrecisionRuns, narrow: Collection[Operation], path: Path) -> None:
    """Write the mixed model, read it again and compare its results, bit by bit.

    Raises:
        UsageError: the file cannot be written, or gives other results.
    """
    from ...runtime.model import load
    from ...runtime.modelfile.onnx_storage import write_model
    from ..peers.onnx_writer import model_with_values

    write_model(model_with_values(runs.mixed(narrow), [], {}), path)
    expected = runs.run(narrow).outputs or {}
    outputs = load(path).run(runs.inputs)
    for name, value in expected.items():
        if np.asarray(outputs[name]).tobytes() != np.asarray(value).tobytes():
            raise UsageError(
                f"{path}: output '{name}' of the saved model is not that of the mixed run; please report it"
            )
