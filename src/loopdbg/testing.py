"""For the test suites of those who write exporters and converters: a model gives what something else gives.

from loopdbg.testing import assert_same

def test_export():
    assert_same("model.onnx", MyModule(), {"x": x})

The same as a pytest fixture is ``loopdbg_same``, which comes with an installed loopdbg.
"""

from __future__ import annotations

# The engine is imported when something is compared.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from .debugger.compare.api import Diff
    from .debugger.compare.report.findings import Verdict
    from .runtime.model import Data

__all__ = ["assert_same"]


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
    """Compare a model with a reference, iteration by iteration, and fail where they differ.

    Args:
        model: a path, or whatever :func:`loopdbg.load` takes.
        reference: whatever :func:`loopdbg.diff` compares a model with: a PyTorch module, another model, a trace,
            what :func:`loopdbg.record_reference` recorded, arrays by name, the path of an ``.npz`` file.
        inputs: name -> array, of the dtypes and shapes that the model declares; None: those that the reference has.
        rtol, atol: the tolerance of floats; None: by dtype.
        names: what a loop or value of the model is called in the reference.
        max_iterations: compare at most so many iterations of any loop.
        allow: verdicts that pass beside "same", such as ``Verdict.STEP`` for quantised models.

    Returns: what the comparison found.

    Raises:
        AssertionError: they are not the same; the text is the report of ``loopdbg diff``: the first iteration and node
            that differ, both values, and the line of code that the node comes from where the model tells it.
        LoopdbgError: they cannot be compared, as :func:`loopdbg.diff` says.
    """
    __tracebackhide__ = True  # pytest shows the line that calls this
    from .debugger.compare.api import diff
    from .debugger.compare.report.findings import Verdict

    found = diff(
        _loaded_model(model),
        reference,
        inputs,
        rtol=rtol,
        atol=atol,
        names=names,
        max_iterations=max_iterations,
    )
    if found.verdict is not Verdict.SAME and found.verdict not in allow:
        raise AssertionError(str(found))
    return found


def _loaded_model(model: Any) -> Any:
    """The model, where it is in memory; a path is opened by the comparison, since it may be that of a trace."""
    import os

    from .debugger.trace.reader import Trace
    from .runtime.model import Model, load

    return model if isinstance(model, str | os.PathLike | Trace | Model) else load(model)
