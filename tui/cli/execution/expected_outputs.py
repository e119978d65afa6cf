"""Expected outputs of a run, from ONNX test data or ``--expect``, and their comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ....runtime.errors import InputError
from ....runtime.model import Data, Model
from .. import terminal
from ..model_inputs.files import read_npz, read_test_outputs
from ..model_inputs.gather import RunInputs
from .ci_checks import CheckReport

#: The exit status of a run with unexpected outputs.
UNEXPECTED_OUTPUTS_STATUS = 5


def expected_outputs(model: Model, inputs: RunInputs, requested: Path | None) -> tuple[Mapping[str, Data], str]:
    """The expected outputs by name, and their source; empty if there are none.

    Raises:
        InputError: The file cannot be read, or the model has no such output.
    """
    source = requested if requested is not None else inputs.test_data
    if source is None:
        return {}, ""
    outputs = read_test_outputs(source, model.outputs) if source.is_dir() else read_npz(source, model.outputs)
    if requested is not None and not outputs:
        raise InputError(f"--expect {source}: holds no output_0.pb, and no other output of the model")
    names = {port.name for port in model.outputs}
    unknown = next((name for name in outputs if name not in names), None)
    if unknown is not None:
        known = ", ".join(f"'{name}'" for name in names) or "none"
        raise InputError(f"--expect {source}: the model has no output '{unknown}'; it has {known}", name=unknown)
    return outputs, str(source)


def check_outputs(checks: CheckReport, expected: Mapping[str, Data], source: str, outputs: Mapping[str, Data]) -> int:
    """Report unexpected outputs on stderr; returns the exit status."""
    if not expected:
        return 0
    from ....debugger.compare.report.findings import Difference
    from ....debugger.compare.report.text_report import delta_text
    from ....debugger.compare.running.value_comparison import Tolerance, compare

    failures = 0
    for name, value in expected.items():
        delta = compare(outputs[name], value, Tolerance())
        if not delta.kind:
            checks.record_pass(f"output {name}")
            continue
        failures += 1
        difference = delta_text(Difference("output", name, name, delta, left=outputs[name], right=value))
        text = f"output '{name}' differs from {source}: {difference}"
        terminal.err(f"loopdbg: {text}")
        checks.record_failure(f"output {name}", text, "differs", [name])
    if not failures:
        subject = "the output is" if len(expected) == 1 else f"all {len(expected)} outputs are"
        terminal.err(f"{subject} as in {source}")
    return UNEXPECTED_OUTPUTS_STATUS if failures else 0
