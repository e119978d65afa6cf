"""Diagnoses: each injected fault is reported as what it is, and its sound model is not."""

from __future__ import annotations

import pytest

from diagnostic_faults import FAULTS, Fault
from text_models import SAMPLES, model, sample

ALL_FAULTS = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@ALL_FAULTS
def test_fault_is_reported(fault: Fault) -> None:
    diagnosis = model(fault.faulty).diagnose({**fault.inputs, **fault.faulty_inputs}, target_type=fault.target_type)
    finding = next(entry for entry in diagnosis.findings if entry.kind.value == fault.kind)
    assert (finding.op_type, finding.iteration, finding.loop.partition(" ▸ ")[0]) == (
        fault.op_type,
        fault.iteration,
        "main",
    )
    assert finding.text and finding.values and finding.count >= 1
    assert str(finding) in str(diagnosis)


@ALL_FAULTS
def test_sound_model_is_not(fault: Fault) -> None:
    assert model(fault.sound).diagnose(fault.inputs, target_type=fault.target_type).findings == ()


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.inputs.npz")), ids=lambda path: path.name)
def test_samples_are_sound(path: object) -> None:
    name = str(getattr(path, "name", "")).removesuffix(".inputs.npz")
    suffix = ".onnx" if (SAMPLES / f"{name}.onnx").is_file() else ".xml"
    net, inputs = sample(f"{name}{suffix}")
    assert net.diagnose(inputs, max_iterations=500).findings == ()
