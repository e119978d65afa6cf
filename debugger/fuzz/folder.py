"""The folder of a fuzzing campaign: its corpus, its findings as cases, and ``fuzz.json``, with which it goes on.

A case is an ``.npz`` of inputs, or a folder of ONNX test data for a model with sequences or optional values, which
``.npz`` has no empty ones of. Next to a finding ``KIND-N`` is its minimal pair: ``KIND-N-passes``, and ``KIND-N-fails``
unless that is the finding itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import atomic_folder, write_text
from ...runtime.errors import InputError, LoopdbgError, UsageError, file_error, one_line
from ...runtime.graph import TensorType
from ...runtime.input_validation import Data
from ...runtime.model import Model, Port
from ..export_formats import npz
from ..export_formats.onnx_test_data import write_test_data
from ..reference.array_files import read_npz, read_test_inputs
from .finding import FuzzFinding

FORMAT_VERSION = 1
STATE_FILE = "fuzz.json"


class FuzzFileError(LoopdbgError):
    """A file of a fuzzing campaign cannot be read or written."""


class FuzzFolder:
    """A folder on disk. ``state``: the content of its ``fuzz.json``; empty for a new campaign."""

    def __init__(self, path: Path, model: Model) -> None:
        self.path = path
        self._model = model
        self._as_npz = all(isinstance(port.type, TensorType) for port in model.inputs)
        self.state: dict[str, Any] = {}
        self._entry_count = 0

    def open(self, settings: Mapping[str, Any]) -> None:
        """Read the state of an earlier campaign with the same settings, if there is one.

        Raises:
            UsageError: it had other settings; the text names the difference.
            FuzzFileError: it cannot be read.
        """
        path = self.path / STATE_FILE
        if not path.exists():
            self.state = {"format": FORMAT_VERSION, "settings": dict(settings), "rounds": 0, "runs": 0, "findings": []}
            return
        try:
            self.state = json.loads(path.read_text("utf-8"))
            old, self._entry_count = self.state["settings"], int(self.state["entries"])
        except OSError as error:
            raise file_error(FuzzFileError, path, "cannot be read", error) from None
        except (ValueError, KeyError, TypeError) as error:
            raise FuzzFileError(f"{path}: damaged: {one_line(error)}", name=str(path)) from None
        for name, value in settings.items():
            if old.get(name) != value:
                raise UsageError(
                    f"{self.path}: holds a campaign with {name} {old.get(name)!r}, and now it is {value!r}; "
                    "give another folder",
                    name=name,
                    expected=repr(old.get(name)),
                    got=repr(value),
                )

    def save_state(self) -> None:
        """Write the state.

        Raises:
            FuzzFileError: it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            state = {**self.state, "entries": self._entry_count}
            write_text(self.path / STATE_FILE, json.dumps(state, indent=1, allow_nan=False) + "\n")
        except OSError as error:
            raise file_error(FuzzFileError, self.path, "cannot be written", error) from None

    def add_entries(self, entries: Sequence[Mapping[str, Data]]) -> None:
        """Add inputs to the corpus."""
        for inputs in entries:
            self._entry_count += 1
            self._write_case(self.path / "corpus" / f"{self._entry_count:05}", inputs)

    def read_entries(self) -> list[dict[str, Data]]:
        """Read the corpus; entries that cannot be read are left out, since others lead to the same inputs."""
        return self._read_cases(sorted((self.path / "corpus").glob("*")))

    def read_findings(self) -> list[dict[str, Data]]:
        """Read the inputs of the findings, as far as they can be read."""
        return self._read_cases([self.path / entry["case"] for entry in self.state["findings"]])

    def _read_cases(self, paths: Sequence[Path]) -> list[dict[str, Data]]:
        cases = []
        for path in paths:
            with suppress(InputError):
                cases.append(read_case(path, self._model.inputs))
        return cases

    def add_finding(self, finding: FuzzFinding) -> Path:
        """Write the case of a finding; returns its path."""
        number = 1 + sum(entry["kind"] == finding.kind.value for entry in self.state["findings"])
        path = self._write_case(self.path / "findings" / f"{finding.kind.value}-{number}", finding.inputs)
        if finding.pair is not None:
            self._write_case(path.with_name(f"{path.stem}-passes"), finding.pair.passing)
            if finding.pair.failing is not finding.inputs:
                self._write_case(path.with_name(f"{path.stem}-fails"), finding.pair.failing)
        signature = list(finding.signature)
        self.state["findings"].append(
            {"case": str(path.relative_to(self.path)), "signature": signature, **finding.as_json()}
        )
        return path

    def _write_case(self, path: Path, inputs: Mapping[str, Data]) -> Path:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._as_npz:
                path = path.with_name(f"{path.name}.npz")
                npz.write(path, inputs)
            else:
                with atomic_folder(path) as folder:
                    ports = self._model.inputs
                    write_test_data(
                        folder, "input", ((p.name, p.type, inputs[p.name]) if p.name in inputs else None for p in ports)
                    )
        except OSError as error:
            raise file_error(FuzzFileError, path, "cannot be written", error) from None
        return path


def read_case(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """Read the inputs of a case.

    Raises:
        InputError: it cannot be read.
    """
    return read_test_inputs(path, ports) if path.is_dir() else read_npz(path, ports)
