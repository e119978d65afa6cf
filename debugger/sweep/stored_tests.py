"""The test cases that are stored next to models: ONNX test data, ``.npz`` files, the findings of a fuzzing campaign."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...runtime.errors import InputError, UsageError, file_error, one_line
from ...runtime.input_validation import resolve_aliases
from ...runtime.model import Model, Port
from ..peers.process import PEERS
from ..reference.array_files import read_npz
from .case_files import FileCases, TestDataCases, natural_sort_key
from .cases import Case, CaseReader
from .job import SweepJob, SweepSpec, model_hash

#: Model files that are looked for in a folder; a script would be run.
_MODEL_SUFFIXES = (".onnx", ".xml")
#: What precedes the name of an output that an input is called like.
_EXPECTED_PREFIX = "expected_"
#: The file and the folder of findings in the folder of a fuzzing campaign.
_FUZZ_STATE, _FUZZ_FINDINGS = "fuzz.json", "findings"


class StoredCases(FileCases):
    """Cases in files of any kind: an ``.npz`` has inputs, and outputs that are expected, by name, or as
    ``expected_NAME``; a folder is ONNX test data."""

    def reader(self, model: Model) -> CaseReader:
        inputs = {port.name for port in model.inputs}
        expected = {f"{_EXPECTED_PREFIX}{port.name}": port for port in model.outputs}
        expected |= {port.name: port for port in model.outputs if port.name not in inputs}
        ports = [*model.inputs, *(Port(name, port.type) for name, port in expected.items())]

        def read(number: int) -> Case:
            path = self.paths[number]
            if path.is_dir():
                return TestDataCases([path], self.name).reader(model)(0)
            values = resolve_aliases(model.graph, read_npz(path, ports))
            outputs = {expected[name].name: value for name, value in values.items() if name in expected}
            return Case({name: value for name, value in values.items() if name in inputs}, expected=outputs)

        return read


def find_tests(paths: Sequence[str], spec: SweepSpec, may_run_programs: bool = False) -> list[SweepJob]:
    """The jobs that run the cases stored next to models.

    Next to ``model.onnx`` these are ``model.*.npz``, the files and the test data in ``model/``, the findings in
    ``model.fuzz/``, which run as the campaign did; next to the only model of a folder also all other ``.npz`` files and
    ``test_data_set_*``.

    Args:
        paths: model files, or folders that are searched for them.
        spec: the limits of each case.
        may_run_programs: whether findings are compared with a program or script if their file names one.

    Raises:
        InputError: no such file or folder, there are no cases, or a file names a program.
    """
    jobs: list[SweepJob] = []
    for model in dict.fromkeys(file for path in paths for file in _model_files(Path(path))):
        for cases, case_spec in _case_groups(model, spec, may_run_programs):
            name = str(model)
            jobs.append(SweepJob(len(jobs), name, model_hash(name), cases, case_spec))
    if not jobs:
        raise InputError(
            f"{', '.join(paths)}: no cases are stored there; they are MODEL.*.npz, test_data_set_* and MODEL.fuzz/ "
            "next to a model",
            name=paths[0],
        )
    return jobs


def _model_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder; give a model, or a folder of models", name=str(path))
    files = [file for suffix in _MODEL_SUFFIXES for file in path.rglob(f"*{suffix}") if file.is_file()]
    return sorted(files, key=natural_sort_key)


def _case_groups(model: Path, spec: SweepSpec, may_run_programs: bool) -> list[tuple[StoredCases, SweepSpec]]:
    """The cases of a model, by what is asked of them."""
    folder = model.parent
    patterns = [f"{model.stem}.*.npz", f"{model.stem}/*.npz", f"{model.stem}/test_data_set_*"]
    if sum(file.suffix in _MODEL_SUFFIXES for file in folder.iterdir()) == 1:
        patterns += ["*.npz", "test_data_set_*"]
    paths = {path for pattern in patterns for path in folder.glob(pattern)}
    groups = [(paths, spec)] if paths else []
    campaign = folder / f"{model.stem}.fuzz"
    findings = {path for path in (campaign / _FUZZ_FINDINGS).glob("*") if not path.stem.endswith("-passes")}
    if findings:
        groups.append((findings, _campaign_spec(campaign / _FUZZ_STATE, spec, may_run_programs)))
    return [(StoredCases(sorted(files, key=natural_sort_key), model.stem), each) for files, each in groups]


def _campaign_spec(path: Path, spec: SweepSpec, may_run_programs: bool) -> SweepSpec:
    """What a fuzzing campaign asked of each case."""
    try:
        settings: dict[str, Any] = json.loads(path.read_text("utf-8"))["settings"]
        against = str(settings["against"])
        campaign = replace(
            spec,
            asserts=tuple(settings["asserts"]),
            against=against,
            max_iterations=settings["max_iterations"] or spec.max_iterations,
        )
    except OSError as error:
        raise file_error(InputError, path, "cannot be read", error) from None
    except (ValueError, KeyError, TypeError, UsageError) as error:
        raise InputError(f"{path}: holds no settings of a campaign: {one_line(error)}", name=str(path)) from None
    is_model = Path(against).suffix in _MODEL_SUFFIXES and ":" not in against
    if not (may_run_programs or is_model or against in ("", *PEERS)):
        raise InputError(
            f"{path}: compares with '{against}', which can do what you can: it runs only if you trust scripts",
            name=str(path),
        )
    return campaign
