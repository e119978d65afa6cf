"""Sweep rows: independent of what runs the cases, with a status for each failure, in files that other programs read."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import loopdbg
from cli_runner import start_cli
from loopdbg.debugger.input_space.seeded_edge_cases import SeededEdgeCases
from loopdbg.debugger.sweep.sweep_store import SweepStore
from sweep_cases import EXPECTED_STATUSES, MAX_ITERATIONS, NEWTON, comparable_rows, count_rows, write_tricky_cases
from text_models import SAMPLES

COUNT = 300


@pytest.fixture(scope="module")
def alone() -> list[tuple[object, ...]]:
    """The rows of a sweep in this process."""
    return comparable_rows(loopdbg.sweep(NEWTON, random=COUNT, seed=3, max_iterations=MAX_ITERATIONS, measures=["err"]))


def test_rows_equal_those_of_a_serial_loop() -> None:
    model = loopdbg.load(NEWTON)
    rows = list(loopdbg.sweep(NEWTON, random=40, max_iterations=MAX_ITERATIONS, measures=["x"]))
    edge_cases = SeededEdgeCases(model)
    for row in rows:
        rng = (np.random.default_rng((row.seed, k)).standard_normal(()) for k in range(2))
        usual = {port.name: np.float32(value) for port, value in zip(model.inputs, rng, strict=True)}
        run = model.execute(edge_cases.inputs(row.seed) or usual, max_iterations=MAX_ITERATIONS)
        loop = run.loops[0]
        assert (row.iterations, row.stopped_by) == (loop.iterations, loop.stopped_by and loop.stopped_by.value)
        expected = float(run.outputs["root"]) if row.status == "ok" else None
        assert repr(row.measures["x"]) == repr(expected)
    assert {row.status.value for row in rows} == {"ok", "limit"}


@pytest.mark.parametrize("processes", [1, 2])
def test_worker_processes_give_the_rows_of_this_process(alone: list[tuple[object, ...]], processes: int) -> None:
    rows = loopdbg.sweep(
        NEWTON, random=COUNT, seed=3, max_iterations=MAX_ITERATIONS, measures=["err"], processes=processes
    )
    assert comparable_rows(rows) == alone


def test_cluster_gives_the_rows_of_this_process(alone: list[tuple[object, ...]]) -> None:
    distributed = pytest.importorskip("distributed", reason="a cluster needs distributed")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        rows = loopdbg.sweep(
            NEWTON, random=COUNT, seed=3, max_iterations=MAX_ITERATIONS, measures=["err"], dask=address
        )
        assert comparable_rows(rows) == alone


def test_killed_sweep_resumes_without_duplicates(alone: list[tuple[object, ...]], tmp_path: Path) -> None:
    rows = tmp_path / "out.sweepdb"
    words = [
        "sweep",
        NEWTON,
        "--random",
        2_000_000,
        "--seed",
        3,
        "--max-iterations",
        MAX_ITERATIONS,
        "--measure",
        "err",
    ]
    process = start_cli(*words, "-j", 2, "-o", rows, start_new_session=True)
    try:
        while count_rows(rows) < 50:
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    done = count_rows(rows)
    fewer = loopdbg.sweep(
        NEWTON,
        random=done + 50,
        seed=3,
        max_iterations=MAX_ITERATIONS,
        measures=["err"],
        timeout=60.0,
        output=rows,
        resume=True,
    )
    new = list(fewer)
    store = SweepStore.open(rows)
    whole = [row for row in store.rows() if int(row.case) < COUNT]
    store.close()
    assert len(new) >= 50 and len({row.id for row in new}) == len(new)
    assert len({row.id for row in whole}) == len(whole) == min(COUNT, done + 50)
    assert set(comparable_rows(whole)) <= set(alone)


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, loopdbg.Row]]:
    model, operators, cases = write_tricky_cases(tmp_path_factory.mktemp("tricky"))
    rows = loopdbg.sweep(
        str(model),
        cases,
        operators=[str(operators)],
        asserts=["h >= 0"],
        breaks=["nan"],
        max_iterations=1000,
        timeout=2.0,
        processes=2,
    )
    yield {row.case: row for row in rows}


def test_each_failure_has_its_status_and_affects_only_its_case(failing: dict[str, loopdbg.Row]) -> None:
    assert {name: row.status.value for name, row in failing.items()} == EXPECTED_STATUSES


def test_rows_locate_the_failure_of_a_case(failing: dict[str, loopdbg.Row]) -> None:
    assert failing["f_overflows"].bad_iteration == 1
    assert failing["f_overflows"].bad_node is not None and failing["f_overflows"].bad_node.startswith("Mul")
    assert failing["h_negative"].bad_iteration == 0
    assert failing["e_endless"].bad_iteration == failing["e_endless"].iterations == 1000
    assert failing["b_crashes"].message == "the process that ran it ended twice: SIGSEGV"
    assert failing["i_lacks"].message == "input 'y' (float32[]) is missing"


def test_cluster_worker_outlives_its_cases(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="a cluster needs distributed")
    from loopdbg.debugger.sweep import dask_cluster
    from loopdbg.debugger.sweep.case_files import open_case_set
    from loopdbg.debugger.sweep.job import SweepSpec
    from loopdbg.debugger.sweep.sweep import prepare_jobs

    model, operators, cases = write_tricky_cases(tmp_path)
    wanted = SweepSpec(("h >= 0",), ("nan",), (), 1000, 1.0, "", (str(operators),))
    (job,), _ = prepare_jobs([str(model)], open_case_set(cases), wanted)
    try:
        _, result = dask_cluster.run_task("another sweep", job, 0, len(job.cases), None)
    finally:
        dask_cluster._close_pools("another sweep")
    assert {cells[2]: cells[6] for _, rows in result for cells in rows} == EXPECTED_STATUSES


def test_case_that_kills_every_worker_is_found() -> None:
    distributed = pytest.importorskip("distributed", reason="a cluster needs distributed")
    from loopdbg.debugger.sweep.cases import InMemoryCases
    from loopdbg.debugger.sweep.dask_cluster import DaskCluster
    from loopdbg.debugger.sweep.job import SweepJob, SweepSpec, model_hash
    from loopdbg.debugger.sweep.schedule import SweepSchedule

    job = SweepJob(0, NEWTON, model_hash(NEWTON), InMemoryCases([{}] * 20), SweepSpec(), None, ("main ▸ sqrt",))

    def run(sweep: str, job: SweepJob, start: int, stop: int, part: object) -> object:
        """Simulates a machine that is lost with case 7."""
        if start <= 7 < stop:
            raise distributed.KilledWorker("task", SimpleNamespace(address="tcp://lost"), 3)
        return 0.1, [(stop - start, [(k, 0, str(k), None, 1, None, "ok") for k in range(start, stop)])]

    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as is_present,
        DaskCluster(is_present.scheduler_address, [job], run=run) as client,  # type: ignore[arg-type]
    ):
        rows = [cells for batch in client.run(SweepSchedule([[(0, 20)]], 1)) for cells in batch.rows]
    assert {cells[0]: cells[6] for cells in rows} == {k: "killed" if k == 7 else "ok" for k in range(20)}
    assert len(rows) == 20


def test_files_that_a_worker_lacks_come_with_its_tasks(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="a cluster needs distributed")
    from loopdbg.debugger.sweep import dask_cluster
    from loopdbg.debugger.sweep.case_files import open_case_set
    from loopdbg.debugger.sweep.job import SweepSpec
    from loopdbg.debugger.sweep.sweep import prepare_jobs

    model = tmp_path / "model.onnx"
    model.write_bytes(Path(NEWTON).read_bytes())
    for k in range(4):
        np.savez(tmp_path / f"{k}.npz", a=np.float32(k + 2), tol=np.float32(1e-6))
    here = comparable_rows(loopdbg.sweep(str(model), tmp_path))
    (job,), _ = prepare_jobs([str(model)], open_case_set(tmp_path), SweepSpec())
    carried, part = job.with_file_contents(), job.cases.subset(1, 3)
    for file in tmp_path.iterdir():
        file.unlink()
    try:
        _, result = dask_cluster.run_task("a sweep", carried, 1, 3, part)
    finally:
        dask_cluster._close_pools("a sweep")
    rows = [cells for _, batch in result for cells in batch]
    assert [(cells[2], cells[4], cells[6], cells[10]) for cells in rows] == [
        (case.rsplit("/", 1)[-1], iterations, status, outputs)
        for case, _, _, iterations, _, status, _, _, _, outputs, _, _ in here[1:3]
    ]
    assert not list(dask_cluster._POOLS)


def test_unopenable_model_is_an_error_of_its_rows(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"nothing")
    rows = list(loopdbg.sweep([NEWTON, str(broken)], [{"a": 2.0, "tol": 1e-6}] * 2))
    assert [row.status.value for row in rows] == ["ok", "ok", "error", "error"]
    assert rows[2].message is not None and "broken.onnx" in rows[2].message
    with pytest.raises(loopdbg.ModelError):
        list(loopdbg.sweep(str(broken), [{}]))


def test_outputs_are_compared_with_a_runtime_and_another_model(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="a peer is asked")
    inputs = [{"a": np.float32(2), "tol": np.float32(1e-6)}]
    (row,) = loopdbg.sweep(NEWTON, inputs, against="onnxruntime")
    assert row.status is loopdbg.Status.OK
    import onnx

    other = onnx.load(NEWTON)
    (body,) = [a.g for n in other.graph.node if n.op_type == "Loop" for a in n.attribute if a.name == "body"]
    next(node for node in body.node if node.op_type == "Add").op_type = "Sub"
    onnx.save(other, tmp_path / "other.onnx")
    (row,) = loopdbg.sweep(NEWTON, inputs, against=str(tmp_path / "other.onnx"), max_iterations=MAX_ITERATIONS)
    assert row.status is loopdbg.Status.DIFFERS or row.status is loopdbg.Status.ERROR
    assert row.message


def test_measures_of_other_iterations_and_the_main_graph() -> None:
    (row,) = loopdbg.sweep(NEWTON, [{"a": 2.0, "tol": 1e-6}], measures=["x@0 + 0", "root"])
    assert row.measures == {"x@0 + 0": 2.0, "root": pytest.approx(2**0.5)}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"asserts": ["err <"]}, "column"),
        ({"asserts": ["err"]}, "float32 .. where true or false is needed"),
        ({"breaks": ["x > 1 and err"]}, "float32 .. where true or false is needed"),
        ({"measures": ["errr"]}, "did you mean err"),
        ({"measures": ["seconds"]}, "is called as a column"),
        ({"measures": ["err", "err"]}, "twice"),
        ({"against": "nothing"}, "neither a runtime"),
        ({"resume": True}, "needs the output"),
        ({"output": "x.xlsx"}, "written as .parquet or .csv"),
    ],
)
def test_invalid_options_are_reported_before_run(words: dict[str, object], why: str) -> None:
    with pytest.raises(loopdbg.UsageError, match=why):
        list(loopdbg.sweep(NEWTON, [{"a": 2.0, "tol": 1e-6}], **words))  # type: ignore[arg-type]


def test_different_sweep_does_not_resume(tmp_path: Path) -> None:
    output = tmp_path / "out.sweepdb"
    assert len(list(loopdbg.sweep(NEWTON, random=3, max_iterations=MAX_ITERATIONS, output=output))) == 3
    for change, why in (({"max_iterations": 5}, "max_iterations"), ({"seed": 1}, "other cases")):
        words = {"random": 3, "max_iterations": MAX_ITERATIONS, **change}
        with pytest.raises(loopdbg.UsageError, match=why):
            list(loopdbg.sweep(NEWTON, output=output, resume=True, **words))  # type: ignore[arg-type]


def test_parquet_csv_and_sqlite_hold_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import csv

    from pyarrow import parquet

    words = {"random": 5, "max_iterations": MAX_ITERATIONS, "measures": ["err"]}
    rows = list(loopdbg.sweep(NEWTON, output=tmp_path / "a.parquet", **words))  # type: ignore[arg-type]
    table = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [(item["id"], item["iterations"], item["err"]) for item in table] == [
        (row.id, row.iterations, row.measures["err"]) for row in rows
    ]
    assert len(list(loopdbg.sweep(NEWTON, output=tmp_path / "b.csv", **words))) == 5  # type: ignore[arg-type]
    with (tmp_path / "b.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [entry["id"] for entry in read] == [row.id for row in rows]
    database = sqlite3.connect(tmp_path / "a.sweepdb")
    assert database.execute("SELECT count(*), sum(status = 'ok') FROM rows").fetchone() == (
        5,
        sum(row.status == "ok" for row in rows),
    )
    database.close()


def test_stateful_models_reset_per_case() -> None:
    rows = list(loopdbg.sweep(str(SAMPLES / "loop_while.xml"), str(SAMPLES / "loop_while.inputs.npz")))
    again = list(loopdbg.sweep([str(SAMPLES / "loop_while.xml")] * 2, str(SAMPLES / "loop_while.inputs.npz")))
    assert {row.outputs for row in again} == {rows[0].outputs}
