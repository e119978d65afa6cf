"""How runs are measured: in which iterations, and what becomes of runs that other processes disturb."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from loopdbg.debugger.profiling import measure
from loopdbg.debugger.profiling.measure import Measurement
from loopdbg.runtime.engine.engine import Engine
from text_models import model

SECONDS = 0.02

PRODUCTS = """
p (int64 M, float[64,64] y0) => (float[64,64] y) {
    y = Loop <body = body (int64 i, bool c, float[64,64] y_in) => (bool keep, float[64,64] y_out) {
        keep = Identity (c)
        product = MatMul (y_in, y_in)
        y_out = Tanh (product)
    }> (M, , y0)
}"""


def measurement(trips: int = 30) -> Measurement:
    loaded = model(PRODUCTS)
    inputs = loaded.check({"M": trips, "y0": np.eye(64, dtype=np.float32)})
    return Measurement(Engine(loaded.plan), inputs, None, None)


@pytest.mark.parametrize(
    ("shares", "every"),
    [
        ([0.05, 0.05, 0.05], 1),
        ([0.09, 0.05, 0.05], 1),
        ([0.09, 0.09, 0.05, 0.1], 3),
        ([0.5, 0.5, 0.09, 0.02, 0.5], 51),
        ([0.07, 0.07, 0.07, 0.07, 0.05, 0.07], 27),
        ([9.0, 9.0, 9.0, 9.0], 128),
    ],
)
def test_fewer_iterations_are_measured_until_the_clock_adds_little(
    monkeypatch: pytest.MonkeyPatch, shares: list[float], every: int
) -> None:
    left: Iterator[float] = iter(shares)
    monkeypatch.setattr(measure, "_added_share", lambda *runs: next(left))
    monkeypatch.setattr(measure, "_LEAST_READINGS", 0)
    monkeypatch.setattr(measure, "_MOST_READINGS", 1e9)
    sampled = measurement()
    sampled.measure_for(SECONDS)
    assert sampled.every == every
    assert next(left, None) is None
    assert all(run.starts for run in sampled.timed_runs)


def test_time_that_other_processes_took_is_no_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run was interrupted within a node, but not in the same segment."""
    disturbed = measurement()
    product = next(pc for pc, step in enumerate(disturbed.plan.code) if getattr(step.node, "op_type", "") == "MatMul")
    mean_seconds = Measurement._mean_seconds

    def interrupted(self: Measurement, runs: list[measure._TimedRun]) -> np.ndarray:
        seconds = mean_seconds(self, runs)
        seconds[product] += 1.0
        return seconds

    monkeypatch.setattr(Measurement, "_mean_seconds", interrupted)
    monkeypatch.setattr(measure, "_MOST_CLOCK_SHARE", 10.0)
    disturbed.measure_for(SECONDS)
    assert 0 < disturbed.node_seconds[product] < 1


def test_the_clock_is_not_more_than_the_time_of_an_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes took time from the runs with the clock, and none from those without it."""
    monkeypatch.setattr(measure, "_added_share", lambda *runs: 1e6)
    monkeypatch.setattr(measure, "_MOST_READINGS", 1e9)
    monkeypatch.setattr(measure, "_MOST_CLOCK_SHARE", 1e9)
    disturbed = measurement()
    disturbed.measure_for(SECONDS)
    ran = disturbed.node_starts > 0
    assert 0 < disturbed.clock_seconds <= (disturbed.node_seconds[ran] / disturbed.node_starts[ran]).min()
    product = next(pc for pc, step in enumerate(disturbed.plan.code) if getattr(step.node, "op_type", "") == "MatMul")
    assert disturbed.instruction_seconds()[product] > 0.5 * disturbed.node_seconds[product]


def timed_run(seconds: float, cpu_seconds: float, parts: float) -> measure._TimedRun:
    plain = measure._PlainRun(1.0, 1.0 if seconds < 2 else 0.5, 0.0, 0.0, [1.0])
    return measure._TimedRun(plain, seconds, cpu_seconds, 0.1, np.array([parts]), np.array([10]))


def test_disturbed_runs_do_not_say_whether_parts_add_up() -> None:
    sampled = measurement()
    sampled.every, sampled.clock_seconds, sampled.node_starts = 4, 0.01, np.array([10])
    sampled.timed_runs = [timed_run(1.1, 1.1, 1.0), timed_run(30.0, 1.0, 90.0)]
    assert sampled.measured_share() == pytest.approx(0.1 + 1.0 - 10 * 0.01)
    sampled.timed_runs = sampled.timed_runs[1:]
    assert sampled.measured_share() is None


def test_the_clock_adds_to_sampled_iterations_what_their_parts_exceed_the_run_by() -> None:
    sampled = measurement()
    clock = sampled.engine.clock_seconds
    sampled.every, sampled.node_starts = 4, np.array([10])
    sampled.timed_runs = [timed_run(1.1, 1.1, 0.9 + 10 * clock), timed_run(30.0, 1.0, 90.0)]
    sampled.clock_seconds = sampled._clock_seconds_of_samples(0.0)
    assert sampled.clock_seconds == pytest.approx(clock)
    assert sampled.measured_share() == pytest.approx(1.0)
    sampled.timed_runs = [timed_run(1.1, 1.1, 2.0)]
    assert sampled._clock_seconds_of_samples(0.0) < 0.05, "a tenth of what the parts exceed it by is no reading"
    sampled.timed_runs = [timed_run(30.0, 1.0, 90.0)]
    assert sampled._clock_seconds_of_samples(0.5) == 0.5


def test_a_slow_run_does_not_count() -> None:
    """The processor was at another rate, or other code had its caches."""
    sampled = measurement()
    sampled.every, sampled.node_starts = 4, np.array([10])
    sampled.timed_runs = [timed_run(1.1, 1.1, 0.9), timed_run(1.1, 1.1, 0.9), timed_run(1.9, 1.9, 1.7)]
    assert sampled.measured_share() == pytest.approx(1.0)


def test_parts_of_a_run_that_is_measured_as_a_whole_add_up() -> None:
    complete = measurement()
    complete.timed_runs = [timed_run(1.1, 1.1, 1.0), timed_run(1.2, 1.2, 1.1), timed_run(30.0, 1.0, 9.0)]
    assert complete.measured_share() == pytest.approx(1.0)
