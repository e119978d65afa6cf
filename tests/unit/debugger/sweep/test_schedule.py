"""The order in which cases are scheduled."""

from __future__ import annotations

from collections.abc import Callable

from loopdbg.debugger.sweep.schedule import FIRST_TASK_CASES, SweepSchedule, SweepTask, missing_intervals


def take_cases(schedule: SweepSchedule, seconds: Callable[[SweepTask], float]) -> list[SweepTask]:
    tasks = []
    while (task := schedule.next_task()) is not None:
        tasks.append(task)
        schedule.record_duration(task, seconds(task))
    return tasks


def test_every_case_is_run_once() -> None:
    tasks = take_cases(SweepSchedule([[(0, 1000), (2000, 2001)], [(5, 9)]], 2), lambda task: 0.001 * len(task))
    numbers = [(task.job, k) for task in tasks for k in range(task.start, task.stop)]
    assert sorted(numbers) == sorted([*((0, k) for k in (*range(1000), 2000)), *((1, k) for k in range(5, 9))])


def test_tasks_grow_to_a_second_of_work_and_shrink_at_the_end() -> None:
    sizes = [len(task) for task in take_cases(SweepSchedule([[(0, 100_000)]], 2), lambda task: 0.001 * len(task))]
    assert sizes[0] == FIRST_TASK_CASES
    assert max(sizes) == 1000
    assert sizes[-1] < 10


def test_tasks_of_slow_cases_are_single_cases() -> None:
    sizes = [len(task) for task in take_cases(SweepSchedule([[(0, 30)]], 1), lambda task: 3.0 * len(task))]
    assert sizes[0] == FIRST_TASK_CASES and set(sizes[1:]) == {1}


def test_lost_cases_come_first_and_a_dropped_job_has_none() -> None:
    schedule = SweepSchedule([[(0, 100)]], 1)
    schedule.retry(SweepTask(0, 7, 7))
    schedule.retry(SweepTask(0, 3, 4, 1))
    assert schedule.next_task() == SweepTask(0, 3, 4, 1)
    schedule.retry(SweepTask(0, 50, 60))
    assert schedule.drop_job(0) == [(0, 100), (50, 60)]
    assert schedule.next_task() is None and not schedule


def test_gaps_are_the_missing_cases() -> None:
    assert missing_intervals([0, 1, 4, 6], 8) == [(2, 4), (5, 6), (7, 8)]
    assert missing_intervals([], 3) == [(0, 3)]
    assert missing_intervals([0, 1, 2, 3], 2) == []
