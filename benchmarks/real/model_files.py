"""What a real model is, and how its files are made: exported, in float16, quantised, converted to IR."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

Array = NDArray[Any]

# OpenVINO's converter tells its makers of each model: threads of it fork while NumPy multiplies, which never ends then
# (threads/blas_fork_guard.h). On such build machines it tells nobody.
os.environ["TF_BUILD"] = "1"

#: Where built models stay; a changed source builds its models anew.
CACHE = Path(__file__).resolve().parents[2] / "build" / "real"

#: Runs a model in a process of its own.
CHILD = Path(__file__).with_name("measure_process.py")

#: Another number builds all models anew.
CACHE_FORMAT_VERSION = 1

#: How far results may be from those of the float32 model, in parts of the largest number; what peers give is as good.
TOLERANCES = {"fp32": 1e-3, "fp16": 3e-2, "int8": 0.1}


@dataclass(frozen=True)
class ExportedModule:
    """A module, and how it is exported: ``script`` by ``torch.jit.script``, ``dynamo`` by ``torch.export``."""

    module: torch.nn.Module
    inputs: Mapping[str, torch.Tensor]
    outputs: tuple[str, ...]
    exporter: str
    #: Axes of inputs whose extent is not fixed.
    dynamic_axes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    opset: int | None = None


@dataclass(frozen=True)
class HandWrittenModel:
    """A model that was written with onnxscript or by hand, and what NumPy gives for its inputs."""

    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]


@dataclass(frozen=True)
class RealModel:
    """One model. ``variants``: what is made of the float32 file."""

    name: str
    description: str
    make_model: Callable[[], ExportedModule | HandWrittenModel]
    variants: tuple[str, ...]
    source: Path


@dataclass(frozen=True)
class BuiltModel:
    """The files of a model, by system and variant; ``missing``: why one is not there."""

    real: RealModel
    folder: Path
    missing_reasons: Mapping[str, str]

    @property
    def files(self) -> dict[tuple[str, str], Path]:
        found = {}
        for system, suffix in (("onnx", ".onnx"), ("ir", ".xml")):
            for variant in ("fp32", *self.real.variants):
                path = self.folder / f"{variant}{suffix}"
                if path.exists():
                    found[system, variant] = path
        return found

    def inputs(self, variant: str) -> dict[str, Array]:
        half = variant == "fp16"
        return {
            name: value.astype(np.float16) if half and value.dtype == np.float32 else value
            for name, value in np.load(self.folder / "inputs.npz").items()
        }

    def expected(self) -> dict[str, Array]:
        return dict(np.load(self.folder / "expected.npz").items())


REAL_MODELS: dict[str, RealModel] = {}


def real_model(
    about: str, *variants: str
) -> Callable[[Callable[[], ExportedModule | HandWrittenModel]], Callable[[], ExportedModule | HandWrittenModel]]:
    """Register a function that makes a model. float16 and int8 are made of it, or ``variants``; ``none``: neither."""

    def register(
        make: Callable[[], ExportedModule | HandWrittenModel],
    ) -> Callable[[], ExportedModule | HandWrittenModel]:
        source = Path(make.__code__.co_filename)
        name = make.__name__
        REAL_MODELS[name] = RealModel(
            name, about, make, tuple(v for v in variants or ("fp16", "int8") if v != "none"), source
        )
        return make

    return register


def build_model(real: RealModel) -> BuiltModel:
    """Its files, made now where they are not there or older than their source.

    Raises:
        Exception: whatever the exporter says of the float32 model.
    """
    folder = CACHE / real.name
    stamp = folder / "built.json"
    key = hashlib.sha256(f"{CACHE_FORMAT_VERSION} {torch.__version__} {_source_text(real)}".encode()).hexdigest()
    if stamp.exists():
        have = json.loads(stamp.read_text(encoding="utf-8"))
        if have["key"] == key:
            return BuiltModel(real, folder, have["missing"])
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, _silence_exporters():
        missing = _build_files(real, Path(name))
        (Path(name) / stamp.name).write_text(json.dumps({"key": key, "missing": missing}))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(name, folder)
    return BuiltModel(real, folder, missing)


def _build_files(real: RealModel, folder: Path) -> dict[str, str]:
    """Write all files of a model; returns which variants could not be made, and why."""
    missing: dict[str, str] = {}
    torch.manual_seed(0)
    made = real.make_model()
    _write_files(made, folder)
    for variant in real.variants:
        _try_variant(
            missing, f"onnx {variant}", {"fp16": _export_float16, "int8": _quantize_int8}[variant], made, folder
        )
    for variant in ("fp32", *real.variants):
        if (folder / f"{variant}.onnx").exists():
            _try_variant(missing, f"ir {variant}", _convert_to_ir, variant, folder)
    return missing


def _source_text(real: RealModel) -> str:
    """The source of a model: its function, and whatever of the file that uses."""
    source = real.source.read_text(encoding="utf-8")
    parts = {part.name: part for part in ast.parse(source).body if isinstance(part, ast.ClassDef | ast.FunctionDef)}
    found: dict[str, str] = {}
    wanted = [real.make_model.__name__]
    while wanted:
        name = wanted.pop()
        if name in parts and name not in found:
            found[name] = ast.get_source_segment(source, parts[name]) or ""
            wanted += [node.id for node in ast.walk(parts[name]) if isinstance(node, ast.Name)]
    return "".join(found[name] for name in sorted(found))


def _try_variant(missing: dict[str, str], what: str, make: Callable[..., None], *arguments: Any) -> None:
    """A variant that a tool cannot make is told of, and does without."""
    try:
        make(*arguments)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        missing[what] = f"{type(error).__name__}: {lines[-1] if lines else ''}"[:300]


def _write_files(made: ExportedModule | HandWrittenModel, folder: Path) -> None:
    path = folder / "fp32.onnx"
    if isinstance(made, HandWrittenModel):
        onnx.save(made.model, path)
        np.savez(folder / "inputs.npz", **made.inputs)
        np.savez(folder / "expected.npz", **made.expected)
        return
    made.module.eval()
    _export_onnx(made, made.module, dict(made.inputs), path)
    with torch.no_grad():
        results = made.module(*(value.clone() for value in made.inputs.values()))
    results = (results,) if isinstance(results, torch.Tensor) else results
    np.savez(folder / "inputs.npz", **{name: value.numpy() for name, value in made.inputs.items()})
    expected = dict(zip(made.outputs, results, strict=True))
    np.savez(folder / "expected.npz", **{name: value.numpy() for name, value in expected.items()})


def _export_onnx(made: ExportedModule, module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], path: Path) -> None:
    """As the exporter writes it by default, in one file."""
    names = list(inputs)
    if made.exporter == "script":
        torch.onnx.export(
            torch.jit.script(module),
            tuple(inputs.values()),
            str(path),
            dynamo=False,
            input_names=names,
            output_names=list(made.outputs),
            dynamic_axes={name: dict(axes) for name, axes in made.dynamic_axes.items()},
            opset_version=made.opset or 17,
        )
    else:
        shapes = None
        if made.dynamic_axes:
            shapes = [dict.fromkeys(made.dynamic_axes.get(name, ()), torch.export.Dim.AUTO) or None for name in names]
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            str(path),
            dynamo=True,
            input_names=names,
            output_names=list(made.outputs),
            dynamic_shapes=shapes,
            opset_version=made.opset,
            external_data=False,
            verbose=False,
        )


def _export_float16(made: ExportedModule | HandWrittenModel, folder: Path) -> None:
    """``module.half()``, exported; a model that came from no module is converted by ONNX Runtime's tool."""
    path = folder / "fp16.onnx"
    if isinstance(made, HandWrittenModel):
        from onnxruntime.transformers.float16 import convert_float_to_float16

        onnx.save(convert_float_to_float16(made.model), path)
        return
    torch.manual_seed(0)
    inputs = {k: v.half() if v.dtype == torch.float32 else v for k, v in made.inputs.items()}
    _export_onnx(made, made.module.half(), inputs, path)


def _quantize_int8(made: ExportedModule | HandWrittenModel, folder: Path) -> None:
    """ONNX Runtime's dynamic quantisation, bodies of loops too; shapes are inferred first, as its guide says."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared, path = folder / "prepared.onnx", folder / "int8.onnx"
    try:
        quant_pre_process(str(folder / "fp32.onnx"), str(prepared), skip_symbolic_shape=True)
    except Exception:
        shutil.copy(folder / "fp32.onnx", prepared)
    options = {"weight_type": QuantType.QInt8, "extra_options": {"EnableSubgraph": True}}
    try:
        quantize_dynamic(prepared, path, **options)
    except ValueError:  # convolutions whose weights stand in the main graph
        quantize_dynamic(
            prepared, path, op_types_to_quantize=["MatMul", "Gemm", "LSTM", "Gather", "Attention"], **options
        )
    prepared.unlink()
    _check_runs(path, folder / "inputs.npz")
    if not set(_operators(onnx.load(path).graph)) & QUANTIZED_OPERATORS:
        path.unlink()
        raise ValueError("nothing to quantise")


def _check_runs(path: Path, inputs: Path) -> None:
    """A file that ONNX Runtime itself wrote and cannot run, or not to an end, is of no use to anybody."""
    command = [sys.executable, str(CHILD), "cold", "onnxruntime", str(path), str(inputs)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except subprocess.SubprocessError as error:
        path.unlink()
        raise ValueError(f"ONNX Runtime does not run what it quantised: {type(error).__name__}") from None


QUANTIZED_OPERATORS = {
    "MatMulInteger",
    "DynamicQuantizeLinear",
    "DynamicQuantizeLSTM",
    "ConvInteger",
    "DynamicQuantizeMatMul",
}


def _operators(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _operators(body)


def _convert_to_ir(variant: str, folder: Path) -> None:
    """What OpenVINO's converter writes of the file; whether it can run it shows elsewhere."""
    import openvino as ov

    ov.save_model(ov.convert_model(folder / f"{variant}.onnx"), folder / f"{variant}.xml", compress_to_fp16=False)


@contextlib.contextmanager
def _silence_exporters() -> Iterator[None]:
    """Exporters say a lot, and warn of what they were always asked to do."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
