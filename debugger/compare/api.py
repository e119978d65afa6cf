"""``loopdbg.diff``: compares two of a model, a trace and a reference from Python."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...runtime.api_boundary import public
from ...runtime.errors import InputError, UsageError
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.model import Data, Model
from ...runtime.text import escape_lines
from ..reference.framework_arrays import copy_value
from ..reference.recorder import ReferenceRecorder
from ..reference.reference import Reference
from ..reference.reference_files import is_reference, read_reference, reference_from_arrays
from ..trace.reader import Trace
from .reference_match.reference_comparison import compare_reference
from .reference_match.track_candidates import input_tracks
from .report import text_report
from .report.findings import Comparison, Difference, LoopFindings, Verdict
from .running.boundary_merge import ComparisonOptions
from .running.map_inputs import map_inputs
from .running.recorded_model import compare_runs
from .running.sides import ModelSide, TraceSide, open_side
from .running.stateful_unroll import requests_as_loops
from .running.value_comparison import Tolerance


@dataclass(frozen=True, eq=False)
class FirstDifference:
    """The first value that differs.

    ``loop``: the path of its loop, empty in the main graph; ``entry``: the iterations of the enclosing loops;
    ``iteration``: that computed it, None before iteration 0 and outside of loops. ``value``, ``other``: its names on
    both sides. ``node``: the model's node that causes the difference, ``op_type`` its operator; empty for several
    candidates, which are in ``nodes``. ``source``: file:line in the reference. ``left``, ``right``: both values.

    >>> wrong = loopdbg.diff(model, {"x": [1.5, 1.5]}, inputs).first
    >>> wrong.iteration, wrong.value, wrong.loop
    (1, 'x', 'main ▸ sqrt')
    """

    loop: str
    entry: tuple[int, ...]
    iteration: int | None
    value: str
    other: str
    node: str
    op_type: str
    nodes: tuple[str, ...]
    source: str
    left: Data
    right: Data


@dataclass(frozen=True, eq=False)
class LoopDifference:
    """The result of one pair of loops. ``loop``, ``other``: the paths. ``iterations``: the number of compared
    iterations; ``differing``: how many of them differ. ``trips``: the trip counts of the last entry on both sides, None
    if unknown.

    >>> (loop,) = loopdbg.diff(model, model, inputs).loops
    >>> loop.loop, loop.same, loop.iterations, loop.trips
    ('main ▸ sqrt', True, 5, (5, 5))
    """

    loop: str
    other: str
    same: bool
    iterations: int
    differing: int
    trips: tuple[int | None, int | None]
    first: FirstDifference | None


class Diff:
    """The result of a comparison; ``str()`` is the report of the command line.

    >>> found = loopdbg.diff(model, model, inputs)
    >>> found.verdict, found.same, found.first, found.written
    (<Verdict.SAME: 'same'>, True, None, [])
    >>> print(found)
    same: newton_sqrt.onnx and newton_sqrt.onnx
        'main ▸ sqrt': 23 values of 5 iterations compared, ... after 5 iterations
        2 outputs the same
    """

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def __repr__(self) -> str:
        return f"<Diff {self.verdict.value}: {self._comparison.left} and {self._comparison.right}>"

    def __str__(self) -> str:
        return escape_lines(text_report.report_lines(self._comparison))

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("diff", self)
        return html

    @property
    def verdict(self) -> Verdict:
        """same, differ, same up to a limit, same as far as compared, cannot compare.

        >>> str(loopdbg.diff(model, model, inputs).verdict.value)
        'same'
        """
        return self._comparison.verdict

    @property
    def same(self) -> bool:
        """Whether everything was compared to the end and nothing differs.

        >>> loopdbg.diff(model, model, inputs).same
        True
        """
        return self._comparison.same

    @property
    def first(self) -> FirstDifference | None:
        """The first difference in execution order; that of the outputs if no loop differs.

        >>> loopdbg.diff(model, {"x": [1.5, 1.5]}, inputs).first.iteration
        1
        """
        difference = self._comparison.first_difference
        return (
            None
            if difference is None
            else _make_first_difference(difference, self._comparison.first or self._comparison)
        )

    @property
    def loops(self) -> list[LoopDifference]:
        """The result of each pair of loops.

        >>> [loop.iterations for loop in loopdbg.diff(model, model, inputs).loops]
        [5]
        """
        return [
            LoopDifference(
                findings.left,
                findings.right,
                findings.same,
                findings.iterations,
                findings.differing_iterations,
                (findings.left_trips, findings.right_trips),
                None if findings.first is None else _make_first_difference(findings.first, findings),
            )
            for findings in self._comparison.loops
        ]

    @property
    def written(self) -> list[str]:
        """Static differences of two models, one line each.

        >>> loopdbg.diff(model, model, inputs).written
        []
        """
        return [text_report.static_difference_text(difference) for difference in self._comparison.static_differences]

    @property
    def outputs(self) -> list[str]:
        """The outputs that differ, by name.

        >>> loopdbg.diff(model, model, inputs).outputs
        []
        """
        return [difference.name for difference in self._comparison.outputs if difference.role == "output"]

    @property
    def notes(self) -> list[str]:
        """What was not compared and why, and other remarks.

        >>> loopdbg.diff(model, {"x": [1.5], "q": [7.0, 8.0]}, inputs).notes[-1]
        "the output 'xs' is only in newton_sqrt.onnx: not compared"
        """
        return list(self._comparison.notes)


def _make_first_difference(difference: Difference, findings: LoopFindings | Comparison) -> FirstDifference:
    node = None if findings.cause is None else findings.cause.node
    return FirstDifference(
        difference.loop,
        difference.entry,
        difference.iteration,
        difference.name,
        difference.other,
        "" if node is None else node.node,
        "" if node is None else node.op_type,
        () if findings.cause is None else findings.cause.candidate_nodes if node is None else (node.node,),
        difference.source if node is None else node.difference.source,
        difference.left,
        difference.right,
    )


@public
def diff(
    a: Any,
    b: Any,
    inputs: Mapping[str, Data] | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    loops: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    max_iterations: int | None = None,
) -> Diff:
    """Compare two runs: where they first differ, and which node causes the difference.

    Args:
        a, b: a model (a path, or what :func:`load` gives), a trace (a path, or a :class:`Trace`), or a reference: the
            path of an ``.npz`` file or of a folder of ONNX test data, a :class:`Reference`, what
            :func:`record_reference` recorded, arrays by name, a PyTorch module or exported program. Two references are
            not compared.
        inputs: name -> array, for the first model; the other one gets the same. None: those of the trace or the
            reference.
        rtol, atol: the tolerance of floats; None: by dtype.
        loops: only these, by name or path.
        names: names of loops or values of ``a`` with their names in ``b``.
        max_iterations: the most iterations of any loop to compare.

    Returns:
        The differences, and the values of the first one.

    Raises:
        ModelError, TraceError: a file cannot be read.
        InputError: a reference cannot be read, or an input is missing or does not fit.
        UsageError: the sources cannot be compared, or a name or loop is unknown.
        ExecutionError, LimitError: a model does not run.

    >>> with loopdbg.record_reference() as ref:
    ...     x = np.float32(2.0)
    ...     for _ in range(5):
    ...         x = np.float32(0.5) * (x + np.float32(2.0) / x)
    ...         ref.iteration(x=x)
    >>> loopdbg.diff(model, ref, inputs)
    <Diff same: newton_sqrt.onnx and reference>
    """
    options = ComparisonOptions(_make_tolerance(rtol, atol), dict(names or {}), tuple(loops))
    sources = [_open_source(a), _open_source(b)]
    try:
        return Diff(_compare_sources(sources[0], sources[1], inputs, options, max_iterations))
    finally:
        for argument, source in zip((a, b), sources, strict=True):
            if isinstance(source, TraceSide) and not isinstance(argument, Trace):
                source.trace.close()


def _make_tolerance(rtol: float | None, atol: float | None) -> Tolerance:
    for name, number in (("rtol", rtol), ("atol", atol)):
        if number is not None and not (math.isfinite(number) and number >= 0):
            raise UsageError(f"{name}={number}: a tolerance is a number from 0 on")
    return Tolerance(rtol, atol)


#: Gives the reference to compare a run with, from the inputs of its model and the most iterations.
_ReferenceSource = Callable[[Model | TraceSide, Mapping[str, Data] | None, int | None], Reference]


def _open_source(argument: Any) -> Model | TraceSide | _ReferenceSource:
    """Open a source to compare."""
    from ..reference.torch_api import is_torch

    if isinstance(argument, str | os.PathLike):
        path = os.fspath(argument)
        return partial(_read_reference, path) if is_reference(path) else open_side(path)
    if isinstance(argument, Trace):
        return TraceSide(argument)
    if isinstance(argument, Model):
        return argument
    if isinstance(argument, Reference | ReferenceRecorder):
        return lambda *_: argument if isinstance(argument, Reference) else argument.reference
    if isinstance(argument, Mapping):
        arrays = {str(name): copy_value(str(name), value) for name, value in argument.items()}
        return lambda *_: reference_from_arrays("the values given", arrays)
    if is_torch(argument):
        return partial(_run_program, argument)
    kind = type(argument)
    raise UsageError(
        f"a {kind.__module__}.{kind.__qualname__} cannot be compared; give a path, a model, a trace, a reference, or "
        "arrays by name"
    )


def _read_reference(path: str, run: Model | TraceSide, *_: object) -> Reference:
    return read_reference(path, *((run.inputs, run.outputs) if isinstance(run, Model) else ((), ())))


def _run_program(
    program: Any, run: Model | TraceSide, inputs: Mapping[str, Data] | None, limit: int | None
) -> Reference:
    from ..reference.torch_api import run_torch_reference

    inputs = inputs if isinstance(run, Model) else run.trace.inputs
    if inputs is None:
        raise UsageError("a PyTorch program is run, too: give the inputs of the model")
    return run_torch_reference(program, inputs, max_iterations=limit)


def _compare_sources(
    left: Model | TraceSide | _ReferenceSource,
    right: Model | TraceSide | _ReferenceSource,
    inputs: Mapping[str, Data] | None,
    options: ComparisonOptions,
    limit: int | None,
) -> Comparison:
    run, other = (left, right) if isinstance(left, Model | TraceSide) else (right, left)
    if not isinstance(run, Model | TraceSide):
        raise UsageError("both are references; one of the two has to be a model or a trace")
    if isinstance(other, Model | TraceSide):
        return _compare_two_runs(run, other, inputs, options, limit)
    if run is right:
        options = replace(options, names={right_name: name for name, right_name in options.names.items()})
    reference = other(run, inputs, limit)
    if isinstance(run, TraceSide):
        return compare_reference(run, reference, options)
    values = inputs_for(run, reference, options.names) if inputs is None else inputs
    return compare_reference(ModelSide(run, values, limit), reference, options)


def inputs_for(model: Model, reference: Reference, names: Mapping[str, str]) -> dict[str, Data]:
    """The recorded inputs of a reference in the form that the model takes.

    Raises:
        InputError: a number does not fit the dtype that the model declares.
    """
    tracks = input_tracks(reference, [port.name for port in model.inputs], names)
    try:
        mapped = map_inputs(reference.inputs or {}, model, {other: name for name, other in names.items()})
        return mapped | map_inputs({name: track.values[()] for name, track in tracks.items()}, model, {})
    except InputError as error:
        raise InputError(f"{model.name} is given the inputs of {reference.label}: {error}") from None


def _compare_two_runs(
    left: Model | TraceSide,
    right: Model | TraceSide,
    inputs: Mapping[str, Data] | None,
    options: ComparisonOptions,
    limit: int | None,
) -> Comparison:
    trace = next((source for source in (left, right) if isinstance(source, TraceSide)), None)
    if trace is not None and inputs is not None:
        raise UsageError(f"{trace.label} is a trace, which has its inputs: leave out 'inputs'")
    if isinstance(left, Model) and isinstance(right, Model):
        left, right = requests_as_loops(left, right, options.names)
    values = (inputs if trace is None else trace.trace.inputs) or {}
    first = left if isinstance(left, TraceSide) else ModelSide(left, values, limit)
    second = (
        right if isinstance(right, TraceSide) else ModelSide(right, map_inputs(values, right, options.names), limit)
    )
    return compare_runs(first, second, options, limit)
