"""``loopdbg convert``: a model as network-building code of TensorRT."""

from __future__ import annotations

import argparse
import keyword
import os
from pathlib import Path

from ....runtime.errors import InputError, UsageError, file_error, missing_folder_error
from ....runtime.text import plural
from .. import terminal
from ..command import Command, int_at_least
from ..options import add_input_options, add_weights_option


class ConvertCommand(Command):
    """Writes a script that builds the same network with TensorRT's loop API."""

    name = "convert"
    summary = """\
Write an ONNX or OpenVINO model as TensorRT network code: a Python script whose
build(network) makes the same loops of ITripLimitLayer, IRecurrenceLayer,
IIteratorLayer and ILoopOutputLayer. What TensorRT cannot say is refused."""
    examples = """\
examples:
  loopdbg convert newton_sqrt.onnx newton_sqrt.py --longest 64
  loopdbg newton_sqrt.py
  loopdbg diff newton_sqrt.onnx newton_sqrt.py --input a=2 --input tol=1e-6

Constants of more than a few elements go into an .npz next to the script. Sizes
that the model leaves open become those of the inputs, as for a run.

exit status: 0 done, 1 TensorRT cannot say it, 2 wrong usage"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg convert MODEL OUT.py [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file: .onnx, .xml, ...")
        parser.add_argument("output", type=Path, metavar="OUT.py", help="the script to write")
        add_weights_option(parser)
        parser.add_argument(
            "--longest",
            type=int_at_least(1),
            metavar="N",
            help="the greatest length of a scan output of a loop that a condition ends: TensorRT needs it in advance. "
            "Not needed where 'loopdbg info' gives a number of iterations",
        )
        parser.add_argument("--force", action="store_true", help="overwrite files that are there")
        add_input_options(parser)

    def import_implementation(self) -> None:
        from ....debugger.tensorrt_export import network_writer  # noqa: F401
        from .. import model_or_trace, output_files  # noqa: F401
        from ..model_inputs import gather  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        import numpy as np

        from ....debugger.tensorrt_export.network_writer import to_tensorrt_script
        from ....runtime.atomic_file import atomic_binary, atomic_folder, write_text
        from ....runtime.graph import System, TensorType
        from ....runtime.model import Data
        from ..model_inputs.gather import gather_inputs
        from ..model_or_trace import load_model_or_trace

        model = load_model_or_trace(options)
        target: Path = options.output
        if target.suffix != ".py":
            name = f"{target.stem.strip('.') or 'network'}.py"
            raise UsageError(f"{target}: TensorRT networks are Python code; name it {name}")
        weights = target.with_suffix(".npz")
        self._check_target(target, weights, model.path, options.force)
        if model.graph.system is System.TENSORRT:
            raise UsageError(f"{model.name} is TensorRT network code already")

        def tensor_type_of(name: str, value: Data) -> TensorType:
            if not isinstance(value, np.ndarray | np.generic):
                raise InputError(f"input '{name}' is no tensor, and TensorRT has nothing else", name=name)
            return TensorType(value.dtype, value.shape)

        inputs = gather_inputs(model, options)
        types = {name: tensor_type_of(name, value) for name, value in inputs.values.items()}
        script = to_tensorrt_script(model.graph, model.name, types, options.longest)
        try:
            with atomic_folder(target.parent) as folder:
                write_text(folder / target.name, script.text)
                if script.weights:
                    with atomic_binary(folder / weights.name) as file:
                        np.savez(file, **script.weights)  # type: ignore[arg-type]
        except OSError as error:
            raise file_error(UsageError, target, "cannot be written", error) from None
        for note in script.notes:
            terminal.err(f"note: {note}")
        arrays = (
            f"; {len(script.weights)} {plural(len(script.weights), 'array')} in {weights}" if script.weights else ""
        )
        terminal.out(f"wrote {target}{arrays}")
        return 0

    def _check_target(self, target: Path, weights: Path, model: Path | None, force: bool) -> None:
        """Check that the script can be written.

        Raises:
            UsageError: Its folder does not exist, or a file exists already.
        """
        from ..output_files import is_same_file

        if not target.stem.isidentifier() or keyword.iskeyword(target.stem):
            raise UsageError(f"{target}: '{target.stem}' is no name of a Python module")
        folder = Path(os.path.realpath(target)).parent
        if not folder.is_dir():
            raise missing_folder_error(target, folder)
        for path in (target, weights):
            if model is not None and is_same_file(path, model):
                raise UsageError(f"{path}: is the model itself; give another name")
            if path.exists() and not force:
                raise UsageError(f"{path}: is there already; --force overwrites it")
