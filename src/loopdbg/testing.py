"""Assertions for test suites of exporters and converters: a model equals a reference.

from loopdbg.testing import assert_same

def test_export():
    assert_same("model.onnx", MyModule(), {"x": x})

The pytest fixture ``loopdbg_same`` of an installed loopdbg does the same.
"""

from __future__ import annotations

# The engine is imported lazily.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from os import PathLike
    from typing import Any

    from .debugger.compare.api import Diff
    from .debugger.compare.report.findings import Verdict
    from .runtime.model import Data

__all__ = ["assert_invariants", "assert_passes", "assert_same"]


def assert_same(
    model: Any,
    reference: Any,
    inputs: Mapping[str, Data] | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    names: Mapping[str, str] | None = None,
    max_iterations: int | None = None,
    allow: Collection[Verdict] = (),
) -> Diff:
    """Compare a model with a reference, iteration by iteration, and fail if they differ.

    Args:
        model: a path, or any argument of :func:`loopdbg.load`.
        reference: any reference of :func:`loopdbg.diff`: a PyTorch module, another model, a trace, a result of
            :func:`loopdbg.record_reference`, arrays by name, the path of an ``.npz`` file.
        inputs: name -> array, with the declared dtypes and shapes; None: those of the reference.
        rtol, atol: tolerances of floats; None: by dtype.
        names: names of the model's loops or values -> names in the reference.
        max_iterations: maximum number of iterations compared per loop.
        allow: verdicts accepted in addition to "same", such as ``Verdict.STEP`` for quantized models.

    Returns:
        The result of the comparison.

    Raises:
        AssertionError: they differ; the message is the report of ``loopdbg diff``: the first iteration and node that
            differ, both values, and the source line of the node, if known.
        LoopdbgError: they cannot be compared; see :func:`loopdbg.diff`.
    """
    __tracebackhide__ = True  # pytest shows the line that calls this
    from .debugger.compare.api import diff
    from .debugger.compare.report.findings import Verdict

    result = diff(
        _loaded_model(model),
        reference,
        inputs,
        rtol=rtol,
        atol=atol,
        names=names,
        max_iterations=max_iterations,
    )
    _measure_coverage(model, inputs, max_iterations)
    if result.verdict is not Verdict.SAME and result.verdict not in allow:
        raise AssertionError(str(result))
    return result


def assert_invariants(
    model: Any,
    invariants: str | PathLike[str] | Sequence[str],
    inputs: Mapping[str, Data] | None = None,
    *,
    max_iterations: int | None = None,
) -> None:
    """Run a model, and fail where an assertion does not hold at a boundary of its loop.

    Args:
        model: a path, or any argument of :func:`loopdbg.load`.
        invariants: the path of a file of ``loopdbg invariants``, or assertions such as ``"all(x > 0) in sqrt"``.
        inputs: name -> array, with the declared dtypes and shapes.
        max_iterations: of each loop; a run that reaches it is checked up to there.

    Raises:
        AssertionError: assertions do not hold; the message has a line for each, with the first place.
        LoopdbgError: the file cannot be read, an assertion is not valid, or the model cannot be run.
    """
    __tracebackhide__ = True
    import os

    from .debugger.breakpoints.assertion import read_invariants
    from .debugger.invariants.api import violations

    texts = read_invariants(invariants) if isinstance(invariants, str | os.PathLike) else list(invariants)
    lines = [f"{text} {place}" for text, place in violations(_loaded_model(model, True), inputs, texts, max_iterations)]
    if lines:
        raise AssertionError("\n".join(lines))


def assert_passes(
    model: Any,
    inputs: Mapping[str, Data] | str | PathLike[str],
    *,
    against: str = "",
    asserts: Sequence[str] = (),
    max_iterations: int | None = None,
    timeout: float | None = None,
) -> None:
    """Run a model on inputs, and fail as ``loopdbg fuzz`` does: a loop never ends, a node or an assertion fails.

    With ``loopdbg.inputs(model)`` it is a property test, and with the case of a finding a regression test.

    Args:
        model: a path, or any argument of :func:`loopdbg.load`.
        inputs: name -> array, or the path of a case.
        against: ``onnxruntime``, ``openvino`` or the path of a model, whose outputs must be the same.
        asserts: conditions that must hold at every boundary.
        max_iterations: when to examine whether a loop ever ends; None: 2000.
        timeout: the maximum seconds of the run; None: 10, or 60 with ``against``.

    Raises:
        AssertionError: the model fails; the message is that of the finding.
        LoopdbgError: the model, the inputs or an assertion is invalid.
    """
    __tracebackhide__ = True
    from os import PathLike
    from pathlib import Path

    from .debugger.fuzz.finding import FindingKind
    from .debugger.fuzz.folder import read_case
    from .debugger.fuzz.job import DEFAULT_MAX_ITERATIONS
    from .debugger.fuzz.replay import replay
    from .runtime.model import Model, load

    loaded = model if isinstance(model, Model) else load(model)
    values = read_case(Path(inputs), loaded.inputs) if isinstance(inputs, str | PathLike) else inputs
    finding = replay(loaded, values, against=against, asserts=asserts, max_iterations=max_iterations, timeout=timeout)
    if finding is None or finding.kind is not FindingKind.TIMEOUT:
        _measure_coverage(loaded, values, max_iterations or DEFAULT_MAX_ITERATIONS)
    if finding is not None:
        raise AssertionError(f"{finding.kind.value}: {finding.message}")


def _measure_coverage(model: Any, inputs: Mapping[str, Data] | None, max_iterations: int | None) -> None:
    """Run the model once more where a test suite measures coverage: a comparison has its own ways of running."""
    from .runtime import model as model_module

    if model_module.observer_factory is None:
        return
    from contextlib import suppress

    from .debugger.trace.reader import Trace
    from .runtime.errors import LoopdbgError

    # Of a trace or a program; the comparison reports what is wrong with the model itself.
    with suppress(LoopdbgError):
        loaded = model if isinstance(model, model_module.Model | Trace) else model_module.load(model)
        if isinstance(loaded, model_module.Model):
            loaded.execute(inputs, max_iterations=max_iterations)


def _loaded_model(model: Any, paths: bool = False) -> Any:
    """Load an in-memory model, or with ``paths`` any; a comparison opens paths, since they may be those of traces."""
    import os

    from .debugger.trace.reader import Trace
    from .runtime.model import Model, load

    known = (Model,) if paths else (str, os.PathLike, Trace, Model)
    return model if isinstance(model, known) else load(model)
