"""The OpenVINO IR sample models: TensorIterator-1, and Loop-5 in each of its forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_writer import IrGraphWriter, LayerPort, PortMapInput, PortMapOutput, PortMapSlice
from sample import Array, SampleModel, uniform

NO_TRIP_COUNT = -1
ROWS = PortMapSlice(axis=0)


def f32(*values: float) -> Array:
    """A float32 vector."""
    return np.array(values, np.float32)


def trips(graph: IrGraphWriter, count: int) -> LayerPort:
    """A constant trip count."""
    return graph.constant("trip_count", np.array(count, np.int64))


def always(graph: IrGraphWriter, name: str) -> LayerPort:
    """A constant condition that is true."""
    return graph.constant(name, np.array(True))


def lstm() -> SampleModel:
    """The LSTM of the TensorIterator-1 page, 25 steps of 512 features, 256 hidden, and its final states.

    LSTMCell takes six inputs since opset4 (gates in the order f, i, c, o); the page shows the older five.
    """
    steps, features, hidden = 25, 512, 256
    net = IrGraphWriter()
    X = net.parameter("X", "f32", (1, steps, features))
    H0 = net.parameter("H0", "f32", (1, hidden))
    C0 = net.parameter("C0", "f32", (1, hidden))

    body = net.body()
    x = body.parameter("x", "f32", (1, 1, features))
    h = body.parameter("h", "f32", (1, hidden))
    c = body.parameter("c", "f32", (1, hidden))
    x_shape = body.constant("x_row_shape", np.array([1, features], np.int64))
    x_row = body.op("Reshape", "x_row", x, x_shape, shape=(1, features), special_zero="false")
    W = body.constant("W", uniform(301, 4 * hidden, features, scale=0.1))
    R = body.constant("R", uniform(302, 4 * hidden, hidden, scale=0.1))
    B = body.constant("B", uniform(303, 4 * hidden, scale=0.1))
    cell = {"hidden_size": str(hidden)}
    h_next, c_next = body.layer(
        "LSTMCell", "cell", [x_row, h, c, W, R, B], [("f32", (1, hidden))] * 2, cell, opset="opset4"
    )
    y_shape = body.constant("y_shape", np.array([1, 1, hidden], np.int64))
    y = body.op("Reshape", "y_slice", h_next, y_shape, shape=(1, 1, hidden), special_zero="false")
    h_result = body.result(h_next, "h_next")
    c_result = body.result(c_next, "c_next")
    y_result = body.result(y, "y")

    Y, H, C = net.tensor_iterator(
        "rnn",
        body,
        [PortMapInput(X, x, PortMapSlice(axis=1)), PortMapInput(H0, h), PortMapInput(C0, c)],
        [PortMapOutput(y_result, PortMapSlice(axis=1), steps), PortMapOutput(h_result), PortMapOutput(c_result)],
        [(h_result, h), (c_result, c)],
    )
    net.result(Y, "Y")
    net.result(H, "H")
    net.result(C, "C")
    inputs = {
        "X": uniform(304, 1, steps, features),
        "H0": uniform(305, 1, hidden, scale=0.5),
        "C0": uniform(306, 1, hidden, scale=0.5),
    }
    return SampleModel(net.files("lstm", 11), inputs)


def reverse_sum() -> SampleModel:
    """A backward TensorIterator: sums from the last row up, in the order of the rows."""
    rows = 6
    backward = PortMapSlice(axis=0, start=-1, end=0, stride=-1)
    net = IrGraphWriter()
    x = net.parameter("x", "f32", (rows, 2))
    start = net.parameter("start", "f32", (1, 2))

    body = net.body()
    row = body.parameter("row", "f32", (1, 2))
    total = body.parameter("total", "f32", (1, 2))
    total_next = body.binary("Add", "add_row", total, row)
    total_result = body.result(total_next, "total_next")

    suffix_sums, sum_ = net.tensor_iterator(
        "sum_backwards",
        body,
        [PortMapInput(x, row, backward), PortMapInput(start, total)],
        [PortMapOutput(total_result, backward, rows), PortMapOutput(total_result)],
        [(total_result, total)],
    )
    net.result(suffix_sums, "suffix_sums")
    net.result(sum_, "sum")
    x_values = np.array([[1, 10], [2, 20], [3, 30], [4, 40], [5, 50], [6, 60]], np.float32)
    return SampleModel(net.files("reverse_sum", 10), {"x": x_values, "start": np.zeros((1, 2), np.float32)})


def loop_for() -> SampleModel:
    """(trip_count, true), the for loop: ten years of compound interest."""
    years = 10
    net = IrGraphWriter()
    deposit = net.parameter("deposit", "f32", (1,))
    rate = net.parameter("rate", "f32", (1,))

    body = net.body()
    balance = body.parameter("balance", "f32", (1,))
    body_rate = body.parameter("rate", "f32", (1,))
    interest = body.binary("Multiply", "interest", balance, body_rate)
    balance_next = body.binary("Add", "add_interest", balance, interest)
    result = body.result(balance_next, "balance_next")
    go_on = body.result(always(body, "true"), "go_on")

    final, history = net.loop(
        "years",
        body,
        trips(net, years),
        always(net, "true"),
        [PortMapInput(deposit, balance), PortMapInput(rate, body_rate)],
        [PortMapOutput(result), PortMapOutput(result, ROWS, years)],
        [(result, balance)],
        next_condition=go_on,
    )
    net.result(final, "final_balance")
    net.result(history, "history")
    return SampleModel(net.files("loop_for", 10), {"deposit": f32(100), "rate": f32(0.05)})


def loop_while() -> SampleModel:
    """(-1, cond), the while loop: halve while above a limit; an x at or below it means zero trips."""
    net = IrGraphWriter()
    x0 = net.parameter("x0", "f32", (1,))
    limit = net.parameter("limit", "f32", (1,))
    above0 = net.compare("Greater", "above_limit_at_start", x0, limit)

    body = net.body()
    x = body.parameter("x", "f32", (1,))
    body_limit = body.parameter("limit", "f32", (1,))
    x_next = body.binary("Multiply", "halve", x, body.constant("half", f32(0.5)))
    above = body.compare("Greater", "above_limit", x_next, body_limit)
    result = body.result(x_next, "x_next")
    go_on = body.result(above, "go_on")

    last, halves = net.loop(
        "halving",
        body,
        trips(net, NO_TRIP_COUNT),
        above0,
        [PortMapInput(x0, x), PortMapInput(limit, body_limit)],
        [PortMapOutput(result), PortMapOutput(result, ROWS)],
        [(result, x)],
        next_condition=go_on,
    )
    net.result(last, "last")
    net.result(halves, "halves")
    return SampleModel(net.files("loop_while", 11), {"x0": f32(100), "limit": f32(1)})


def loop_do_while() -> SampleModel:
    """(-1, true) with a condition from the body, the do-while loop: the digits of n (0 has one as well)."""
    net = IrGraphWriter()
    n0 = net.parameter("n", "i64", (1,))

    body = net.body()
    n = body.parameter("n", "i64", (1,))
    count = body.parameter("count", "i64", (1,))
    unit = body.constant("one", np.array([1], np.int64))
    ten = body.constant("ten", np.array([10], np.int64))
    digit = body.binary("Mod", "last_digit", n, ten)
    n_next = body.binary("Divide", "drop_digit", n, ten)
    count_next = body.binary("Add", "count_digit", count, unit)
    zero = body.constant("zero", np.array([0], np.int64))
    more = body.compare("Greater", "digits_left", n_next, zero)
    n_result = body.result(n_next, "n_next")
    count_result = body.result(count_next, "count_next")
    digit_result = body.result(digit, "digit")
    go_on = body.result(more, "go_on")

    digit_count, digits = net.loop(
        "digits",
        body,
        trips(net, NO_TRIP_COUNT),
        always(net, "true"),
        [PortMapInput(n0, n), PortMapInput(net.constant("no_digits", np.array([0], np.int64)), count)],
        [PortMapOutput(count_result), PortMapOutput(digit_result, ROWS)],
        [(n_result, n), (count_result, count)],
        next_condition=go_on,
    )
    net.result(digit_count, "digit_count")
    net.result(digits, "digits")
    return SampleModel(net.files("loop_do_while", 11), {"n": np.array([9041372], np.int64)})


def loop_for_condition() -> SampleModel:
    """(trip_count, cond), the for loop with condition: growth while below a limit, ``max_trips`` at most."""
    net = IrGraphWriter()
    max_trips = net.parameter("max_trips", "i64", ())
    x0 = net.parameter("x0", "f32", (1,))
    growth = net.parameter("growth", "f32", (1,))
    limit = net.parameter("limit", "f32", (1,))
    below0 = net.compare("Less", "below_limit_at_start", x0, limit)

    body = net.body()
    x = body.parameter("x", "f32", (1,))
    body_growth = body.parameter("growth", "f32", (1,))
    body_limit = body.parameter("limit", "f32", (1,))
    x_next = body.binary("Multiply", "grow", x, body_growth)
    below = body.compare("Less", "below_limit", x_next, body_limit)
    result = body.result(x_next, "x_next")
    go_on = body.result(below, "go_on")

    last, history = net.loop(
        "growing",
        body,
        max_trips,
        below0,
        [PortMapInput(x0, x), PortMapInput(growth, body_growth), PortMapInput(limit, body_limit)],
        [PortMapOutput(result), PortMapOutput(result, ROWS)],
        [(result, x)],
        next_condition=go_on,
    )
    net.result(last, "last")
    net.result(history, "history")
    inputs = {"max_trips": np.array(12, np.int64), "x0": f32(1), "growth": f32(1.5), "limit": f32(20)}
    return SampleModel(net.files("loop_for_condition", 11), inputs)


def loop_infinite() -> SampleModel:
    """(-1, true) with a condition that is always true, the infinite loop: Leibniz's series for pi.

    OpenVINO loads it, but inference never returns: step it, or run it with a limit on the iterations.
    """
    net = IrGraphWriter()
    start = net.parameter("start", "f32", (1,))

    body = net.body()
    i = body.parameter("i", "i64", (1,))
    estimate = body.parameter("estimate", "f32", (1,))
    numerator = body.parameter("numerator", "f32", (1,))
    i_f = body.op("Convert", "i_f", i, element="f32", destination_type="f32")
    twice_i = body.binary("Multiply", "twice_i", i_f, body.constant("two", f32(2)))
    denominator = body.binary("Add", "denominator", twice_i, body.constant("one", f32(1)))
    term = body.binary("Divide", "term", numerator, denominator)
    estimate_next = body.binary("Add", "add_term", estimate, term)
    numerator_next = body.op("Negative", "change_sign", numerator)
    estimate_result = body.result(estimate_next, "estimate_next")
    numerator_result = body.result(numerator_next, "numerator_next")
    go_on = body.result(always(body, "true"), "go_on")

    [pi] = net.loop(
        "leibniz",
        body,
        trips(net, NO_TRIP_COUNT),
        always(net, "true"),
        [PortMapInput(start, estimate), PortMapInput(net.constant("four", f32(4)), numerator)],
        [PortMapOutput(estimate_result)],
        [(estimate_result, estimate), (numerator_result, numerator)],
        next_condition=go_on,
        iteration=i,
    )
    net.result(pi, "pi")
    return SampleModel(net.files("loop_infinite", 11), {"start": f32(0)})


def loop_slice_concat() -> SampleModel:
    """A Loop-5 with a sliced input and a concatenated output: each row times its number, and their total."""
    rows = 5
    net = IrGraphWriter()
    x = net.parameter("x", "f32", (rows, 3))
    start = net.parameter("start", "f32", (1, 3))

    body = net.body()
    row = body.parameter("row", "f32", (1, 3))
    total = body.parameter("total", "f32", (1, 3))
    i = body.parameter("i", "i64", (1,))
    i_f = body.op("Convert", "i_f", i, element="f32", destination_type="f32")
    weight = body.binary("Add", "weight", i_f, body.constant("one", f32(1)))
    weighted = body.binary("Multiply", "weigh", row, weight)
    total_next = body.binary("Add", "add_weighted", total, weighted)
    weighted_result = body.result(weighted, "weighted")
    total_result = body.result(total_next, "total_next")
    go_on = body.result(always(body, "true"), "go_on")

    weighted_rows, weighted_sum = net.loop(
        "weighted_rows",
        body,
        trips(net, rows),
        always(net, "true"),
        [PortMapInput(x, row, ROWS), PortMapInput(start, total)],
        [PortMapOutput(weighted_result, ROWS, rows), PortMapOutput(total_result)],
        [(total_result, total)],
        next_condition=go_on,
        iteration=i,
    )
    net.result(weighted_rows, "rows")
    net.result(weighted_sum, "weighted_sum")
    x_values = np.arange(1, 1 + rows * 3, dtype=np.float32).reshape(rows, 3)
    return SampleModel(net.files("loop_slice_concat", 11), {"x": x_values, "start": np.zeros((1, 3), np.float32)})


def factorial_loop(body: IrGraphWriter, i: LayerPort, unit: LayerPort) -> LayerPort:
    """The inner loop of ``loop_nested``: (i + 1)!, with a trip count that depends on the outer iteration."""
    unit_count = body.constant("one", np.array([1], np.int64))
    inner_trips = body.binary("Add", "inner_trips", i, unit_count)

    inner = body.body()
    j = inner.parameter("j", "i64", (1,))
    product = inner.parameter("product", "f32", (1,))
    j_f = inner.op("Convert", "j_f", j, element="f32", destination_type="f32")
    factor = inner.binary("Add", "factor", j_f, inner.constant("one_f", f32(1)))
    product_next = inner.binary("Multiply", "multiply", product, factor)
    product_result = inner.result(product_next, "product_next")
    go_on = inner.result(always(inner, "true"), "go_on")

    [factorial] = body.loop(
        "factorial",
        inner,
        inner_trips,
        always(body, "inner_true"),
        [PortMapInput(unit, product)],
        [PortMapOutput(product_result)],
        [(product_result, product)],
        next_condition=go_on,
        iteration=j,
    )
    return factorial


def loop_nested() -> SampleModel:
    """A Loop-5 in a Loop-5: Euler's number as 1 + 1/1! + 1/2! + ..., each factorial a loop of its own."""
    terms = 8
    net = IrGraphWriter()
    unit = net.parameter("unit", "f32", (1,))

    body = net.body()
    i = body.parameter("i", "i64", (1,))
    e = body.parameter("e", "f32", (1,))
    body_unit = body.parameter("unit", "f32", (1,))
    factorial = factorial_loop(body, i, body_unit)
    term = body.binary("Divide", "term", body_unit, factorial)
    e_next = body.binary("Add", "add_term", e, term)
    e_result = body.result(e_next, "e_next")
    factorial_result = body.result(factorial, "factorial_value")
    go_on = body.result(always(body, "true"), "go_on")

    e_last, factorials = net.loop(
        "terms",
        body,
        trips(net, terms),
        always(net, "true"),
        [PortMapInput(unit, e), PortMapInput(unit, body_unit)],
        [PortMapOutput(e_result), PortMapOutput(factorial_result, ROWS, terms)],
        [(e_result, e)],
        next_condition=go_on,
        iteration=i,
    )
    net.result(e_last, "e")
    net.result(factorials, "factorials")
    return SampleModel(net.files("loop_nested", 11), {"unit": f32(1)})


SAMPLES: dict[str, Callable[[], SampleModel]] = {
    function.__name__: function
    for function in (
        lstm,
        reverse_sum,
        loop_for,
        loop_while,
        loop_do_while,
        loop_for_condition,
        loop_infinite,
        loop_slice_concat,
        loop_nested,
    )
}
