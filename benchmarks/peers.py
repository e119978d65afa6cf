"""How each runtime is called: the fastest way that its Python API offers, results left where it puts them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # a process that measures a cold start pays for its runtime alone
    from case import Case, Inputs, Outputs


@dataclass(frozen=True)
class Job:
    """One model as every runtime gets it. ``threads`` is 1, or None for what a runtime does by default."""

    model: Path
    inputs: Inputs
    threads: int | None
    #: What the model was made from, where a twin in C may be.
    case: Case | None = None


@dataclass(frozen=True)
class Prepared:
    """A loaded model. ``run`` is what is timed; ``outputs`` turns what it returned into arrays of its own."""

    run: Callable[[], Any]
    outputs: Callable[[Any], Outputs]
    #: Seconds of compiling, of what is compiled before it is timed and tells.
    compiling: float = 0.0


def _copied(outputs: Outputs) -> Outputs:
    return {name: np.array(value) for name, value in outputs.items()}


def loopdbg_headless(job: Job) -> Prepared:
    """``model.run``: what ``loopdbg run`` does."""
    model = _loopdbg_model(job)
    return Prepared(lambda: model.run(job.inputs), _copied)


def loopdbg_stepped(job: Job) -> Prepared:
    """The same, with a Python function called at every boundary."""
    model = _loopdbg_model(job)
    return Prepared(lambda: model.run(job.inputs, on_iteration=lambda frame: None), _copied)


def _loopdbg_model(job: Job) -> Any:
    import loopdbg

    return loopdbg.load(job.model)


def onnxruntime(job: Job) -> Prepared:
    """``InferenceSession.run`` on the CPU, everything else as it comes."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    if job.threads:
        options.intra_op_num_threads = options.inter_op_num_threads = job.threads
    session = ort.InferenceSession(str(job.model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return Prepared(
        lambda: session.run(None, job.inputs), lambda values: _copied(dict(zip(names, values, strict=True)))
    )


def openvino(job: Job) -> Prepared:
    """One infer request on the CPU, in float32, without copies on the way in or out."""
    import openvino as ov

    core = ov.Core()
    options: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    if job.threads:
        options["INFERENCE_NUM_THREADS"] = job.threads
    compiled = core.compile_model(core.read_model(job.model), "CPU", options)
    request = compiled.create_infer_request()

    def outputs(values: Any) -> Outputs:
        # An output may go by several names, or by none.
        return {name: np.array(values[port]) for port in compiled.outputs for name in port.get_names() or {str(port)}}

    return Prepared(lambda: request.infer(job.inputs, share_inputs=True, share_outputs=True), outputs)


def onnx_reference(job: Job) -> Prepared:
    """NumPy, node by node: what an ONNX file says, without regard to speed."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(job.model))
    names = evaluator.output_names
    return Prepared(
        lambda: evaluator.run(None, dict(job.inputs)), lambda values: _copied(dict(zip(names, values, strict=True)))
    )


def c_twin(job: Job) -> Prepared:
    """The loop in C."""
    import twins

    if job.case is None:
        raise twins.NoTwinError("")
    return Prepared(twins.prepare(job.case, job.inputs), _copied)


def xla(job: Job) -> Prepared:
    """The loop in JAX, compiled before anything is timed."""
    import twins
    import xla as written

    if job.case is None:
        raise twins.NoTwinError("")
    return Prepared(*written.prepare(job.case, job.inputs, job.threads))


def torch_compile(job: Job) -> Prepared:
    """The loop in PyTorch, compiled before anything is timed."""
    import torch_compiled
    import twins

    if job.case is None:
        raise twins.NoTwinError("")
    return Prepared(*torch_compiled.prepare(job.case, job.inputs, job.threads))


@dataclass(frozen=True)
class Runner:
    """One column of the table."""

    title: str
    prepare: Callable[[Job], Prepared]


RUNNERS: dict[str, Runner] = {
    "loopdbg": Runner("loopdbg", loopdbg_headless),
    "stepped": Runner("stepped", loopdbg_stepped),
    "onnxruntime": Runner("ONNX Runtime", onnxruntime),
    "openvino": Runner("OpenVINO", openvino),
    "onnx.reference": Runner("onnx.reference", onnx_reference),
    "c": Runner("gcc -O3", c_twin),
    "xla": Runner("XLA (JAX)", xla),
    "torch": Runner("torch.compile", torch_compile),
}

#: What loopdbg is measured against, and whose results are right: the first that has one.
PEERS = ("onnxruntime", "openvino")
REFERENCES = (*PEERS, "c")
