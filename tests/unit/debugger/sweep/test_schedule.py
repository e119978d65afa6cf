"""Which cases are run next."""

from __future__ import annotations

from collections.abc import Callable

from loopdbg.debugger.sweep.schedule import FIRST, Schedule, Task, gaps


def taken(schedule: Schedule, seconds: Callable[[Task], float]) -> list[Task]:
    tasks = []
    while (task := schedule.next()) is not None:
        tasks.append(task)
        schedule.took(task, seconds(task))
    return tasks


def test_every_case_is_run_once() -> None:
    tasks = taken(Schedule([[(0, 1000), (2000, 2001)], [(5, 9)]], 2), lambda task: 0.001 * len(task))
    numbers = [(task.job, k) for task in tasks for k in range(task.start, task.stop)]
    assert sorted(numbers) == sorted([*((0, k) for k in (*range(1000), 2000)), *((1, k) for k in range(5, 9))])


def test_tasks_grow_to_a_second_of_work_and_shrink_at_the_end() -> None:
    sizes = [len(task) for task in taken(Schedule([[(0, 100_000)]], 2), lambda task: 0.001 * len(task))]
    assert sizes[0] == FIRST
    assert max(sizes) == 1000
    assert sizes[-1] < 10


def test_tasks_of_slow_cases_are_single_cases() -> None:
    sizes = [len(task) for task in taken(Schedule([[(0, 30)]], 1), lambda task: 3.0 * len(task))]
    assert sizes[0] == FIRST and set(sizes[1:]) == {1}


def test_what_was_lost_comes_first_and_nothing_of_no_case() -> None:
    schedule = Schedule([[(0, 100)]], 1)
    schedule.again(Task(0, 7, 7))
    schedule.again(Task(0, 3, 4, 1))
    assert schedule.next() == Task(0, 3, 4, 1)
    schedule.again(Task(0, 50, 60))
    assert schedule.drop(0) == [(0, 100), (50, 60)]
    assert schedule.next() is None and not schedule


def test_gaps_are_what_is_missing() -> None:
    assert gaps([0, 1, 4, 6], 8) == [(2, 4), (5, 6), (7, 8)]
    assert gaps([], 3) == [(0, 3)]
    assert gaps([0, 1, 2, 3], 2) == []
