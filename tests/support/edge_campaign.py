"""Fuzzes loops with a fault that only an edge case exposes; used by ``campaign.py edge``.

A finding must come within a minute on two cores, be 1-minimal, and fail in the same way in a fresh process, read from
its file. The same loop is swept over 200 random cases, which seldom have the edge case.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

import loopdbg
from edge_faults import FAULTS, EdgeFault, texts
from loopdbg.debugger.fuzz.campaign import FuzzCampaign, SavedFinding
from loopdbg.debugger.fuzz.folder import FuzzFolder
from loopdbg.debugger.fuzz.job import FuzzJob, make_fuzz_job
from loopdbg.debugger.fuzz.replay import replay
from loopdbg.debugger.input_space.shrink import simpler_inputs
from loopdbg.debugger.input_space.space import InputSpace
from text_models import proto

_SECONDS, _PROCESSES, _RANDOM_CASES = 60.0, 2, 200
_REPLAY = """
import json, sys, loopdbg
from loopdbg.debugger.fuzz.replay import replay
finding = replay(loopdbg.load(sys.argv[1]), sys.argv[2], against=sys.argv[3])
print(json.dumps(finding and finding.as_json()))
"""


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of the cases with these numbers."""
    return [f"{FAULTS[number % len(FAULTS)].name} {number}" for number in numbers]


def describe_case(name: str) -> str:
    """The graph of a case."""
    return texts(_fault(name))[0]


def _fault(name: str) -> EdgeFault:
    return next(fault for fault in FAULTS if fault.name == name.split(" ")[0])


def write_models(fault: EdgeFault, folder: Path) -> tuple[Path, str]:
    """Write the models of a fault; returns the paths of the faulty one and of the correct one, if there is one."""
    faulty, correct = texts(fault)
    onnx.save(proto(faulty), folder / "faulty.onnx")
    if correct is None:
        return folder / "faulty.onnx", ""
    onnx.save(proto(correct), folder / "correct.onnx")
    return folder / "faulty.onnx", str(folder / "correct.onnx")


def judge_case(name: str) -> str:
    """How a fault is found: by both ways, by the fuzzer alone, or MISSED."""
    with TemporaryDirectory() as folder:
        path, against = write_models(_fault(name), Path(folder))
        model = loopdbg.load(path)
        rows = loopdbg.sweep(model, random=_RANDOM_CASES, against=against, max_iterations=2000)
        by_sweep = any(row.status.value != "ok" for row in rows)
        job = make_fuzz_job(model, str(path), against=against)
        campaign = FuzzCampaign(job, model, _open_folder(Path(folder), model), processes=_PROCESSES)
        findings = campaign.run(_SECONDS)
        saved = next(findings, None)
        findings.close()
        if saved is None:
            return f"MISSED: {campaign.runs} runs; by a sweep: {by_sweep}"
        fault = check_finding(job, model, saved)
        if fault:
            return f"FINDING: {fault}"
        return f"{'also by a sweep' if by_sweep else 'by fuzz alone'}: {campaign.seconds:.1f} s, {campaign.runs} runs"


def _open_folder(folder: Path, model: loopdbg.Model) -> FuzzFolder:
    result = FuzzFolder(folder / "fuzz", model)
    result.open({})
    return result


def check_finding(job: FuzzJob, model: loopdbg.Model, saved: SavedFinding) -> str:
    """What is wrong with a finding: it does not replay from its file, or a simpler one fails as well."""
    finding, against = saved.finding, job.spec.against
    if not finding.minimal:
        return "is not minimal"
    for step in simpler_inputs(InputSpace(model), finding.inputs):
        other = replay(model, step, against=against)
        if other is not None and other.signature == finding.signature:
            return f"{step} fails as well as {finding.inputs}"
    command = [sys.executable, "-c", _REPLAY, job.path, str(saved.path), against]
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ)).stdout
    expected = {**finding.as_json(), "minimal": False, "pair": None}
    return "" if json.loads(output) == expected else f"{output.strip()} from the file of {expected}"
