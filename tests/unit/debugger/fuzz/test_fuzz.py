"""Fuzzing: faults of edge cases are found, shrunk, written and found again; correct loops have no findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from edge_campaign import check_finding, write_models
from edge_faults import FAULTS, texts
from loopdbg.debugger.fuzz.campaign import FuzzCampaign, SavedFinding
from loopdbg.debugger.fuzz.executor import FuzzExecutor
from loopdbg.debugger.fuzz.finding import FindingKind, FuzzFinding
from loopdbg.debugger.fuzz.folder import STATE_FILE, FuzzFolder, read_case
from loopdbg.debugger.fuzz.job import Corpus, make_fuzz_job
from loopdbg.debugger.fuzz.last_inputs import LastInputs
from loopdbg.debugger.fuzz.minimal_pair import find_minimal_pair
from loopdbg.debugger.fuzz.replay import replay
from loopdbg.debugger.input_space.space import InputSpace
from loopdbg.testing import assert_passes
from text_models import COUNT, model, proto

#: One of each kind of edge case; ``campaign.py edge`` tries all.
NAMES = (
    *("mean_of_no_iteration", "do_while", "narrow_counter", "index_at_the_end", "drops_the_last_part"),
    *("maximum_of_nothing", "last_of_equal_scores", "narrow_sum", "maximum_ignores_nan", "sign_of_zero"),
)
WITH_FAULTS = {fault.name: fault for fault in FAULTS}


def first_finding(executor: FuzzExecutor, corpus: Corpus, rounds: int = 60) -> FuzzFinding | None:
    """The first finding of some rounds in this process."""
    for number in range(rounds):
        executor.use_corpus(replace(corpus, seconds=0.5, first=number, parts=int(not number)))
        for (result,) in executor.run(range(number, number + 1), lambda _: None):
            if result.findings:
                return result.findings[0]
    return None


@pytest.mark.parametrize("name", NAMES)
def test_edge_cases_are_found(tmp_path: Path, name: str) -> None:
    path, against = write_models(WITH_FAULTS[name], tmp_path)
    source = loopdbg.load(path)
    job = make_fuzz_job(source, str(path), against=against)
    finding = first_finding(FuzzExecutor(job, source), Corpus())
    assert finding is not None and finding.minimal
    if name not in ("mean_of_no_iteration", "narrow_counter", "sign_of_zero"):
        return
    folder = opened(tmp_path / "fuzz", source)
    assert check_finding(job, source, SavedFinding(finding, folder.add_finding(finding))) == ""


@pytest.mark.parametrize("name", ["do_while", "sign_of_zero", "variance_of_one_iteration"])
def test_correct_loops_have_no_findings(name: str) -> None:
    text = texts(WITH_FAULTS[name])[1]
    assert text is not None
    source = model(text)
    assert first_finding(FuzzExecutor(make_fuzz_job(source, "m"), source), Corpus(), 2) is None


def test_a_loop_with_a_long_period_is_endless() -> None:
    source = model("""g (int64 x) => (int64 y) <bool go = {1}, int64 one = {1}, int64 period = {50000}> {
      y = Loop (, go, x) <body = b (int64 i, bool c, int64 h) => (bool c2, int64 h_next) {
        sum = Add (h, one)
        h_next = Mod (sum, period)
        c2 = GreaterOrEqual (h_next, h_next)
      }>
    }""")
    finding = replay(source, {"x": np.int64(3)})
    assert finding is not None and finding.kind is FindingKind.ENDLESS
    assert "repeats bit for bit every 50000 iterations" in finding.message


def test_a_bounded_loop_is_not_endless() -> None:
    source = model(COUNT.replace("}> (M, cond, v0)", "}> (, cond, v0)"))
    inputs = {"M": np.int64(0), "cond": np.bool_(True), "v0": np.int64(0)}
    assert replay(source, {**inputs, "bound": np.int64(10**6)}) is None
    assert replay(source, {**inputs, "bound": np.int64(10**18)}) is None


@pytest.mark.parametrize(
    ("name", "failing", "passing", "iteration"),
    [("narrow_counter", 128, 127, 126), ("floor_of_minus_one", -1, 0, 0), ("index_at_the_end", 10, 9, 0)],
)
def test_minimal_pair(tmp_path: Path, name: str, failing: int, passing: int, iteration: int) -> None:
    path, against = write_models(WITH_FAULTS[name], tmp_path)
    source = loopdbg.load(path)
    finding = first_finding(FuzzExecutor(make_fuzz_job(source, str(path), against=against), source), Corpus())
    assert finding is not None and finding.pair is not None
    assert (finding.pair.failing["n"], finding.pair.passing["n"]) == (failing, passing)
    assert finding.pair.iteration == iteration
    assert next(row for row in finding.pair.rows if row.name == "n").failing == str(failing)
    assert replay(source, finding.pair.failing) is not None
    assert replay(source, finding.pair.passing) is None


def test_minimal_pair_diverges_late() -> None:
    source = model("""g (float s0, float[n] x) => (float s) {
        s = Scan <num_scan_inputs = 1, body = b (float t, float part) => (float u) { u = Add (t, part) }> (s0, x)
    }""")
    x = np.zeros(300, np.float32)
    x[200] = np.nan
    failing: dict[str, Any] = {"s0": np.float32(0), "x": x}
    space = InputSpace(source, ["n=300"])
    pair = find_minimal_pair(source, space, failing, lambda inputs: bool(np.isfinite(source.run(inputs)["s"])), 1000)
    assert pair is not None and pair.iteration == 200
    assert [row.name for row in pair.rows] == ["t", "u"]


def opened(path: Path, source: loopdbg.Model, **settings: Any) -> FuzzFolder:
    folder = FuzzFolder(path, source)
    folder.open(settings)
    return folder


def campaign(path: Path, folder: Path, **options: Any) -> FuzzCampaign:
    source = loopdbg.load(path)
    return FuzzCampaign(make_fuzz_job(source, str(path)), source, opened(folder, source), **options)


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, _ = write_models(WITH_FAULTS["step_zero"], tmp_path)
    first = campaign(path, tmp_path / "fuzz", processes=1)
    saved = next(first.run(60.0))
    assert saved.finding.kind is FindingKind.ENDLESS
    assert read_case(saved.path, loopdbg.load(path).inputs)["step"] == 0
    list(campaign(path, tmp_path / "fuzz", processes=0).run(0.5))  # its corpus
    second = campaign(path, tmp_path / "fuzz", processes=0)
    assert second.entries and second.runs > 0
    runs = second.runs
    assert list(second.run(0.5)) == []  # known
    assert second.runs > runs


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    source = model(COUNT)
    opened(tmp_path, source, asserts=[]).save_state()
    with pytest.raises(loopdbg.UsageError) as caught:
        opened(tmp_path, source, asserts=["v > 0"])
    assert (caught.value.name, caught.value.expected, caught.value.got) == ("asserts", "[]", "['v > 0']")
    (tmp_path / STATE_FILE).write_text("{}")
    with pytest.raises(loopdbg.LoopdbgError, match="damaged"):
        opened(tmp_path, source)


def test_assertions_and_replay(tmp_path: Path) -> None:
    source = model(COUNT)
    inputs = {"M": np.int64(5), "cond": np.bool_(True), "v0": np.int64(0), "bound": np.int64(10)}
    finding = replay(source, inputs, asserts=["v_in < 3"])
    assert finding is not None and finding.kind is FindingKind.ASSERT
    assert (finding.loop, finding.iteration, finding.message) == (source.plan.loops[0].path, 3, "v_in < 3 is false")
    assert_passes(source, inputs)
    saved = opened(tmp_path, source).add_finding(finding)
    with pytest.raises(AssertionError, match="v_in < 3 is false"):
        assert_passes(source, saved, asserts=["v_in < 3"])
    with pytest.raises(loopdbg.InputError):
        assert_passes(source, {"M": 1})


def test_sequences_and_optionals_are_test_data(tmp_path: Path) -> None:
    source = model("g (seq(float[N]) s, int64 M) => (int64 n) { n = SequenceLength (s) }")
    inputs = {"s": [], "M": np.array(3)}
    path = opened(tmp_path, source).add_finding(FuzzFinding(FindingKind.ERROR, inputs, "m"))
    assert read_case(path, source.inputs) == {"s": [], "M": 3}


def test_what_both_reject_is_no_fault(tmp_path: Path) -> None:
    path, _ = write_models(WITH_FAULTS["index_at_the_end"], tmp_path)
    source = loopdbg.load(path)
    inputs = {"x": np.zeros(10, np.float32), "n": np.int64(10)}
    finding = replay(source, inputs)
    assert finding is not None and (finding.kind, finding.node) == (FindingKind.ERROR, "Gather_0")
    assert replay(source, inputs, against=str(path)) is None
    assert replay(source, inputs, against="onnxruntime") is None
    (tmp_path / "other.onnx").write_bytes(
        proto("g (float[10] x, int64 n) => (float y) { y = ReduceSum <keepdims = 0> (x) }").SerializeToString()
    )
    accepted = replay(source, inputs, against=str(tmp_path / "other.onnx"))
    assert accepted is not None and accepted.message == f"{finding.message}; other.onnx runs with these inputs"


def test_different_sizes_without_names_are_no_fault() -> None:
    source = model("g (float[] x, float[] y) => (float[] z) { z = Add (x, y) }".replace("[]", "[?]"))
    executor = FuzzExecutor(make_fuzz_job(source, "m"), source)
    assert executor.space.with_equal_sizes({"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)}) is not None
    assert first_finding(executor, Corpus(), 2) is None


def test_peers_agree_on_the_samples(tmp_path: Path) -> None:
    onnx.save(proto(COUNT), tmp_path / "m.onnx")
    source = loopdbg.load(tmp_path / "m.onnx")
    executor = FuzzExecutor(make_fuzz_job(source, str(tmp_path / "m.onnx"), against="onnxruntime"), source)
    try:
        assert first_finding(executor, Corpus(), 3) is None
    finally:
        executor.close()


def test_last_inputs_of_a_process() -> None:
    with LastInputs.files(1) as (path,):
        assert LastInputs.read(path) is None
        file = LastInputs(path)
        file.write({"x": np.arange(3)})
        file.close()
        kept = LastInputs.read(path)
    assert kept is not None and kept["x"].tolist() == [0, 1, 2]
    assert not Path(path).exists()
