"""Any program as a peer: it is started for each run, reads a folder and writes a folder. Runs in the peer's process.

The protocol is in docs/command_peer.md.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_binary, scratch_folder, write_bytes, write_text
from ...runtime.child_process import run_child
from ...runtime.safe_file_reading import read_text
from .child import CommandError, OptionError
from .command_template import fill_command_placeholders, split_command
from .jobs import IrJob, Job, NodeTime, OnnxJob, RuntimeSetup

PROTOCOL_VERSION = 1
MANIFEST = "manifest.json"
#: The folders of a run.
INPUTS_FOLDER, OUTPUTS_FOLDER = "inputs", "outputs"
_MAX_ERROR_CHARS = 400


class CommandRuntime:
    """The runtime that the child process serves. ``version``: what the program calls itself, known after a run."""

    version = ""
    usual_precision = ""

    def __init__(self, setup: RuntimeSetup) -> None:
        if setup.options or setup.libraries:
            raise OptionError("a command has no settings of its own: write them into the command")
        self.words = split_command(setup.device)
        self.configuration: Mapping[str, str] = {"command": setup.device}
        self.timeout = setup.timeout

    def open(self, job: Job) -> CommandModel:
        """Prepare a model; the program reads it at each run."""
        if isinstance(job, OnnxJob):
            return CommandModel(self, job, *_onnx_port_names(job))
        if isinstance(job, IrJob) and not (job.trajectories or job.values or job.state):
            return CommandModel(self, job, None, None)
        raise TypeError("a command is given an OpenVINO IR as it is: without further outputs, and no body alone")


class CommandModel:
    """A model and the names of its ports; None: known by position alone."""

    def __init__(
        self, runtime: CommandRuntime, job: OnnxJob | IrJob, inputs: Sequence[str] | None, outputs: Sequence[str] | None
    ) -> None:
        self._runtime = runtime
        self._job = job
        self._inputs = inputs
        self._outputs = outputs

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Start the program and return the outputs, in order.

        Raises:
            CommandError: it failed, was ended by a signal, took too long, or did not write what the protocol asks for.
        """
        with scratch_folder() as folder:
            inputs, outputs, model = folder / INPUTS_FOLDER, folder / OUTPUTS_FOLDER, self._ensure_model_file(folder)
            outputs.mkdir()
            known = {name: value for name, value in feeds.items() if self._inputs is None or name in self._inputs}
            plain = isinstance(self._job, OnnxJob) and self._job.disable_optimizations
            write_inputs(inputs, known, self._outputs, optimize=not plain)
            values = {"{model}": str(model), "{inputs}": str(inputs), "{outputs}": str(outputs)}
            words = [fill_command_placeholders(word, values) for word in self._runtime.words]
            self._run_program(words, folder)
            results, self._runtime.version = read_outputs(outputs, self._outputs, self._runtime.version)
            return results

    def take_node_times(self) -> list[NodeTime]:
        """No times: a program reports none."""
        return []

    def _ensure_model_file(self, folder: Path) -> Path:
        if not isinstance(self._job, OnnxJob) or not self._job.data:
            return Path(self._job.path).absolute()
        path = folder / "model.onnx"
        write_bytes(path, self._job.data)
        return path

    def _run_program(self, words: Sequence[str], folder: Path) -> None:
        try:
            process = run_child(words, timeout=self._runtime.timeout)
        except OSError as error:
            raise CommandError("failed", f"'{words[0]}' cannot be started: {error.strerror}") from None
        if process is None:
            raise CommandError("hung", f"no end within {self._runtime.timeout:g} s, the timeout")
        if process.returncode == 0:
            return
        message = output_tail(process.stderr or process.stdout).replace(f"{folder}/", "")
        if process.returncode > 0:
            raise CommandError("failed", f"exit status {process.returncode}" + (f": {message}" if message else ""))
        try:
            name = signal.Signals(-process.returncode).name
        except ValueError:
            name = f"signal {-process.returncode}"
        raise CommandError("crashed", f"{name}: {message}" if message else name)


def write_inputs(
    folder: Path, feeds: Mapping[str, Any], outputs: Sequence[str] | None, *, optimize: bool = True
) -> None:
    """Write the inputs of a run into a new folder: an array file for each tensor, and the manifest.

    Raises:
        CommandError: a value that has no form in the files.
    """
    folder.mkdir()
    entries = []
    for index, (name, value) in enumerate(feeds.items()):
        if isinstance(value, list | tuple):
            items = [_write_array_file(folder, f"{index}_{k}.npy", name, item) for k, item in enumerate(value)]
            entries.append({"name": name, "sequence": items})
        else:
            entries.append({"name": name, **_write_array_file(folder, f"{index}.npy", name, value)})
    manifest = {"version": PROTOCOL_VERSION, "optimize": optimize, "inputs": entries, "outputs": outputs}
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")


def read_outputs(folder: Path, names: Sequence[str] | None, version: str = "") -> tuple[list[Any], str]:
    """Read the outputs of a run in the order of ``names``, and what the program calls itself, else ``version``.

    Raises:
        CommandError: the manifest or a file is missing or invalid.
    """
    try:
        manifest = json.loads(read_text(folder / MANIFEST))
        entries = [(entry.get("name"), entry) for entry in manifest["outputs"]]
        version = str(manifest.get("runtime", version))
    except (OSError, UnicodeDecodeError):
        raise CommandError("failed", f"exit status 0, and no {MANIFEST} in the folder of outputs") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CommandError("failed", f"{MANIFEST} of the outputs is not as docs/command_peer.md asks for") from None
    by_name = dict(entries)
    missing = next((name for name in names or () if name not in by_name), None)
    if missing is not None:
        raise CommandError("failed", f"{MANIFEST} of the outputs has no '{missing}'")
    ordered = [entry for _, entry in entries] if names is None else [by_name[name] for name in names]
    return [_read_value(folder, entry) for entry in ordered], version


def _write_array_file(folder: Path, file_name: str, name: str, value: Any) -> dict[str, Any]:
    array = np.asarray(value)
    if array.dtype.kind in "OS":
        array = array.astype(np.str_)
    if array.dtype.kind == "V":
        raise CommandError("failed", f"'{name}' is {array.dtype.name}, which an array file cannot hold")
    with atomic_binary(folder / file_name) as file:
        np.save(file, array, allow_pickle=False)
    dtype = "string" if array.dtype.kind == "U" else array.dtype.name
    return {"file": file_name, "dtype": dtype, "shape": list(array.shape)}


def _read_value(folder: Path, entry: Mapping[str, Any]) -> Any:
    if "sequence" in entry:
        return [_read_value(folder, item) for item in entry["sequence"]]
    name = str(entry.get("file", ""))
    try:
        # Only files of the folder: a manifest is no reason to read others.
        array = np.load(folder / Path(name).name, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CommandError("failed", f"the file '{name}' of the outputs cannot be read: {error}") from None
    return array.astype(object) if array.dtype.kind in "US" else array


def _onnx_port_names(job: OnnxJob) -> tuple[list[str], list[str]]:
    """The names of a model's inputs, including those with defaults, and of its outputs."""
    import onnx

    if job.data:
        graph = onnx.load_model_from_string(job.data).graph
    else:
        graph = onnx.load_model(job.path, load_external_data=False).graph
    return [port.name for port in graph.input], [port.name for port in graph.output]


def output_tail(output: bytes) -> str:
    """The end of what a program printed, in one line."""
    text = " ".join(output.decode("utf-8", "replace").split())
    return text if len(text) <= _MAX_ERROR_CHARS else f"... {text[-_MAX_ERROR_CHARS:]}"


RUNTIME = CommandRuntime
