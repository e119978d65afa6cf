"""The outputs that a run is expected to give: ONNX test data, or ``--expect``, and what differs from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ....runtime.errors import InputError
from ....runtime.model import Data, Model
from .. import terminal
from ..model_inputs.files import read_npz, read_test_outputs
from ..model_inputs.gather import RunInputs
from .ci_checks import CheckReport

#: The exit status of a run whose outputs are not those that were expected.
UNEXPECTED_OUTPUTS_STATUS = 5


def expected_outputs(model: Model, inputs: RunInputs, asked: Path | None) -> tuple[Mapping[str, Data], str]:
    """The outputs that are expected, by name, and where they are from; none where nothing says any.

    Raises:
        InputError: they cannot be read, or the model has no such output.
    """
    where = asked if asked is not None else inputs.test_data
    if where is None:
        return {}, ""
    found = read_test_outputs(where, model.outputs) if where.is_dir() else read_npz(where, model.outputs)
    if asked is not None and not found:
        raise InputError(f"--expect {where}: holds no output_0.pb, and no other output of the model")
    names = {port.name for port in model.outputs}
    unknown = next((name for name in found if name not in names), None)
    if unknown is not None:
        told = ", ".join(f"'{name}'" for name in names) or "none"
        raise InputError(f"--expect {where}: the model has no output '{unknown}'; it has {told}")
    return found, str(where)


def check_outputs(checks: CheckReport, found: Mapping[str, Data], where: str, outputs: Mapping[str, Data]) -> int:
    """Say on stderr which outputs are not as expected; the exit status."""
    if not found:
        return 0
    from ....debugger.compare.report.findings import Difference
    from ....debugger.compare.report.text_report import delta_text
    from ....debugger.compare.running.value_comparison import Tolerance, compare

    wrong = 0
    for name, right in found.items():
        delta = compare(outputs[name], right, Tolerance())
        if not delta.kind:
            checks.record_pass(f"output {name}")
            continue
        wrong += 1
        told = delta_text(Difference("output", name, name, delta, left=outputs[name], right=right))
        text = f"output '{name}' differs from {where}: {told}"
        terminal.err(f"loopdbg: {text}")
        checks.record_failure(f"output {name}", text, "differs", [name])
    if not wrong:
        some = "the output is" if len(found) == 1 else f"all {len(found)} outputs are"
        terminal.err(f"{some} as in {where}")
    return UNEXPECTED_OUTPUTS_STATUS if wrong else 0
