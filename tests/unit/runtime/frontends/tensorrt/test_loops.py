"""What TensorRT's loop layers give: the examples of NVIDIA's guide, and what its formal semantics say at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ExecutionError
from loopdbg.runtime.frontends.tensorrt.enums import LoopOutput, TripLimit
from loopdbg.runtime.graph import StoppedBy
from tensorrt_networks import NetworkBuilder, Op, output_of

GUIDE = np.array([[2, 3, 5], [4, 6, 8]], np.float32)


def run(net: NetworkBuilder, **inputs: Any) -> dict[str, Any]:
    return net.model().run({name: np.asarray(value) for name, value in inputs.items()})


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_an_iterator_gives_rows_or_columns(axis: int, reverse: bool) -> None:
    net = NetworkBuilder()
    x = net.input_tensor("x", shape=(2, 3))
    count = GUIDE.shape[axis]
    loop = net.counted_loop(count)
    part = output_of(loop.add_iterator(x, axis, reverse))
    assert tuple(part.shape) == (GUIDE.shape[1 - axis],)
    net.stack(loop, part, "parts", count)
    wanted = np.moveaxis(GUIDE, axis, 0)
    assert np.array_equal(run(net, x=GUIDE)["parts"], wanted[::-1] if reverse else wanted)


@pytest.mark.parametrize(
    ("axis", "reverse", "wanted"),
    [
        (0, False, [[1, 2, 3], [4, 5, 6]]),
        (1, False, [[1, 4], [2, 5], [3, 6]]),
        (0, True, [[4, 5, 6], [1, 2, 3]]),
        (1, True, [[4, 1], [5, 2], [6, 3]]),
    ],
)
def test_vectors_are_stacked_along_either_axis(axis: int, reverse: bool, wanted: Any) -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(2)
    row = output_of(loop.add_iterator(net.input_tensor("x", shape=(2, 3))))
    net.stack(loop, row, "y", 2, axis, reverse)
    got = run(net, x=np.array([[1, 2, 3], [4, 5, 6]], np.float32))["y"]
    assert np.array_equal(got, np.array(wanted, np.float32))


def test_a_counter_from_j_by_k_while_it_is_below() -> None:
    """``for (i = j; i < n; i += k)``"""
    net = NetworkBuilder()
    loop = net.add_loop()
    k, n = net.input_tensor("k", "int32"), net.input_tensor("n", "int32")
    i, after = net.add_carried(loop, net.input_tensor("j", "int32"), lambda i: net.elementwise(i, k))
    loop.add_trip_limit(net.elementwise(i, n, Op.LESS), TripLimit.WHILE)
    net.stack(loop, i, "before", 8)
    net.stack(loop, after, "after", 8)
    net.last(loop, i, "last")
    got = run(net, j=np.int32(3), k=np.int32(4), n=np.int32(16))
    assert got["before"].tolist() == [3, 7, 11, 15, 0, 0, 0, 0]
    assert got["after"].tolist() == [7, 11, 15, 19, 0, 0, 0, 0]
    assert got["last"] == 19


@pytest.mark.parametrize("limit", ["count", "while"])
def test_no_trips_give_the_initial_value_and_zeros(limit: str) -> None:
    net = NetworkBuilder()
    loop = net.add_loop()
    x, after = net.add_carried(loop, net.input_tensor("x"), lambda x: net.elementwise(x, x))
    if limit == "count":
        loop.add_trip_limit(net.int32_const(0), TripLimit.COUNT)
    else:
        loop.add_trip_limit(net.elementwise(x, net.const(1.0), Op.LESS), TripLimit.WHILE)
    net.last(loop, x, "last")
    net.stack(loop, after, "all", 3, reverse=True)
    got = run(net, x=np.float32(5))
    assert got["last"] == 5
    assert got["all"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("count", "reason", "trips"), [(2, "trip_count", 2), (4, "condition", 3), (3, "trip_count", 3)]
)
def test_the_smaller_of_both_limits_counts(count: int, reason: str, trips: int) -> None:
    """Where both fall together the condition is not asked any more."""
    net = NetworkBuilder()
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    x, _ = net.add_carried(loop, net.const(1.0), lambda x: net.elementwise(x, x))
    loop.add_trip_limit(net.elementwise(x, net.const(8.0), Op.LESS), TripLimit.WHILE)
    net.last(loop, x, "last")
    run_ = net.model().execute({"n": np.int32(count)})
    assert run_.outputs["last"] == 2.0**trips
    assert (run_.loops[0].iterations, run_.loops[0].stopped_by) == (trips, StoppedBy(reason))


def test_an_iterator_at_its_end_does_not_matter_where_the_condition_ends_the_loop() -> None:
    """At the last index only what the condition needs is computed."""
    net = NetworkBuilder()
    loop = net.add_loop()
    rows = net.input_tensor("rows", shape=(-1, 2))
    i, _ = net.add_carried(loop, net.int32_const(0), lambda i: net.elementwise(i, net.int32_const(1)))
    loop.add_trip_limit(net.elementwise(i, net.input_tensor("n", "int32"), Op.LESS), TripLimit.WHILE)
    net.stack(loop, output_of(loop.add_iterator(rows)), "y", 5)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert np.array_equal(run(net, rows=x, n=np.int32(3))["y"][:3], x)
    with raises_error(
        ExecutionError, loop="loop_0", iteration=3, name="rows", expected="part 3", got="3 parts"
    ) as caught:
        run(net, rows=x, n=np.int32(4))
    expected = {"loop": "loop_0", "iteration": 3, "name": "rows", "expected": "part 3", "got": "3 parts"}
    assert caught.value.fields == expected


def test_a_reverse_iterator_counts_back_from_the_trip_count() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    net.stack(loop, output_of(loop.add_iterator(net.input_tensor("x", shape=(4,)), 0, True)), "y", 4)
    model = net.model()
    x = np.array([1, 2, 3, 4], np.float32)
    for n, wanted in ((4, [4, 3, 2, 1]), (2, [2, 1, 0, 0]), (0, [0, 0, 0, 0]), (3, [3, 2, 1, 0])):
        assert model.run({"x": x, "n": np.int32(n)})["y"].tolist() == wanted
    with raises_error(ExecutionError, loop="loop_0", iteration=0, name="x", expected="part 4", got="[4]") as caught:
        model.run({"x": x, "n": np.int32(5)})
    assert (caught.value.name, caught.value.expected, caught.value.got) == ("x", "part 4", "[4]")


def test_without_a_count_a_reverse_iterator_begins_at_the_end() -> None:
    net = NetworkBuilder()
    loop = net.add_loop()
    i, _ = net.add_carried(loop, net.int32_const(0), lambda i: net.elementwise(i, net.int32_const(1)))
    loop.add_trip_limit(net.elementwise(i, net.int32_const(2), Op.LESS), TripLimit.WHILE)
    net.stack(loop, output_of(loop.add_iterator(net.input_tensor("x", shape=(4,)), 0, True)), "y", 2)
    assert run(net, x=np.array([1, 2, 3, 4], np.float32))["y"].tolist() == [4, 3]


def test_a_recurrence_from_outside_is_x_then_y_for_ever() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(4)
    x, _ = net.add_carried(loop, net.input_tensor("x"), lambda _: net.input_tensor("y"))
    net.stack(loop, x, "all", 4)
    net.last(loop, x, "last")
    got = run(net, x=np.float32(1), y=np.float32(7))
    assert got["all"].tolist() == [1, 7, 7, 7]
    assert got["last"] == 7


def test_recurrences_may_exchange_their_values_and_delay_them() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(3)
    a, b = loop.add_recurrence(net.const(1.0)), loop.add_recurrence(net.const(2.0))
    a.set_input(1, output_of(b))
    b.set_input(1, output_of(a))
    net.stack(loop, output_of(a), "a", 3)
    net.last(loop, output_of(a), "a_last")
    net.last(loop, output_of(b), "b_last")
    got = run(net)
    assert got["a"].tolist() == [1, 2, 1]
    assert (got["a_last"], got["b_last"]) == (2, 1)


def test_a_length_below_the_trips_is_an_error_at_the_iteration_that_is_too_many() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    x, _ = net.add_carried(loop, net.const(1.0), lambda x: net.elementwise(x, x))
    net.stack(loop, x, "y", net.input_tensor("length", "int64"))
    model = net.model()
    assert model.run({"n": np.int32(3), "length": np.int64(3)})["y"].tolist() == [1, 2, 4]
    assert model.run({"n": np.int32(1), "length": np.int64(4)})["y"].tolist() == [1, 0, 0, 0]
    with raises_error(ExecutionError, loop="loop_0", iteration=2, name="length", got="2") as caught:
        model.run({"n": np.int32(3), "length": np.int64(2)})
    assert caught.value.fields == {"loop": "loop_0", "iteration": 2, "name": "length", "got": "2"}
    with raises_error(ExecutionError, loop="loop_0", name="length", expected="0 or more", got="-1") as caught:
        model.run({"n": np.int32(3), "length": np.int64(-1)})
    assert caught.value.fields == {"loop": "loop_0", "name": "length", "expected": "0 or more", "got": "-1"}
    # Buffers of an entry before serve on, and no longer than they may.
    assert model.run({"n": np.int32(2), "length": np.int64(2)})["y"].tolist() == [1, 2]


def test_a_negative_count_is_an_error() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    net.last(loop, net.add_carried(loop, net.const(1.0), lambda x: net.elementwise(x, x))[0], "y")
    with raises_error(ExecutionError, loop="loop_0", name="n", expected="0 or more", got="-2") as caught:
        run(net, n=np.int32(-2))
    assert caught.value.fields == {"loop": "loop_0", "name": "n", "expected": "0 or more", "got": "-2"}


def test_a_carried_value_keeps_its_shape() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(2)
    x, _ = net.add_carried(loop, net.input_tensor("x", shape=(-1,)), lambda _: net.input_tensor("y", shape=(-1,)))
    net.last(loop, x, "last")
    assert run(net, x=np.zeros(2, np.float32), y=np.ones(2, np.float32))["last"].tolist() == [1, 1]
    with raises_error(
        ExecutionError, loop="loop_0", iteration=0, name="Recurrence_2", expected="[2]", got="[3]"
    ) as caught:
        run(net, x=np.zeros(2, np.float32), y=np.ones(3, np.float32))
    assert (caught.value.iteration, caught.value.expected, caught.value.got) == (0, "[2]", "[3]")


def test_a_branch_that_is_not_taken_does_not_run() -> None:
    """The other one holds a loop that reads past the end of what it iterates over."""
    net = NetworkBuilder()
    outer = net.counted_loop(net.input_tensor("n", "int32"))
    i, _ = net.add_carried(outer, net.int32_const(0), lambda i: net.elementwise(i, net.int32_const(1)))
    guard = net.add_if_conditional()
    guard.set_condition(net.elementwise(i, net.int32_const(2), Op.LESS))
    inner = net.counted_loop(4)
    part = output_of(inner.add_iterator(net.input_tensor("x", shape=(2,))))
    s = inner.add_recurrence(net.const(0.0))
    s.set_input(1, net.elementwise(output_of(s), part))
    net.stack(
        outer,
        output_of(
            guard.add_output(net.const(5.0), output_of(inner.add_loop_output(output_of(s), LoopOutput.LAST_VALUE)))
        ),
        "y",
        3,
    )
    model = net.model()
    assert [loop.path for tree in model.loops for loop in (tree, *tree.children)] == [
        "main ▸ loop_0",
        "main ▸ loop_0 ▸ conditional_0 (else) ▸ loop_1",
    ]
    x = np.ones(2, np.float32)
    assert model.run({"x": x, "n": np.int32(2)})["y"].tolist() == [5, 5, 0]
    with pytest.raises(ExecutionError) as caught:
        model.run({"x": x, "n": np.int32(3)})
    assert (caught.value.name, caught.value.got) == ("x", "2 parts")


def test_nesting_follows_from_what_is_computed_from_what() -> None:
    net = NetworkBuilder()
    rows = net.input_tensor("rows", shape=(3, 2))
    outer = net.counted_loop(3)
    row = output_of(outer.add_iterator(rows))
    inner = net.counted_loop(2)
    total, _ = net.add_carried(inner, net.const(0.0), lambda s: net.elementwise(s, output_of(inner.add_iterator(row))))
    net.stack(outer, output_of(inner.add_loop_output(total, LoopOutput.LAST_VALUE)), "sums", 3)
    alone = net.counted_loop(2)
    net.last(alone, net.add_carried(alone, net.const(1.0), lambda s: net.elementwise(s, s))[0], "four")
    model = net.model()
    assert [(loop.path, [child.path for child in loop.children]) for loop in model.loops] == [
        ("main ▸ loop_0", ["main ▸ loop_0 ▸ loop_1"]),
        ("main ▸ loop_2", []),
    ]
    got = model.run({"rows": np.arange(6, dtype=np.float32).reshape(3, 2)})
    assert got["sums"].tolist() == [1, 5, 9]
    assert got["four"] == 4
