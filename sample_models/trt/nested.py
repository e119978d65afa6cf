"""A nested loop with a conditional: the number of Collatz steps from each number down to 1."""

import numpy as np
import tensorrt as trt

OPERATION = trt.ElementWiseOperation


def build(network):
    numbers = network.add_input("numbers", trt.int32, (4,))

    def number(value):
        return network.add_constant((), np.array([value], np.int32)).get_output(0)

    def apply(a, b, operation):
        return network.add_elementwise(a, b, operation).get_output(0)

    count, unit, two, three = number(4), number(1), number(2), number(3)
    outer = network.add_loop()
    outer.name = "numbers"
    outer.add_trip_limit(count, trt.TripLimit.COUNT)
    start = outer.add_iterator(numbers).get_output(0)
    start.name = "start"

    inner = network.add_loop()
    inner.name = "collatz"
    n, steps = inner.add_recurrence(start), inner.add_recurrence(number(0))
    n.get_output(0).name, steps.get_output(0).name = "n", "steps"
    more = apply(n.get_output(0), unit, OPERATION.GREATER)
    more.name = "more"
    inner.add_trip_limit(more, trt.TripLimit.WHILE)
    quotient = apply(n.get_output(0), two, OPERATION.DIV)
    odd = apply(apply(n.get_output(0), apply(quotient, two, OPERATION.PROD), OPERATION.SUB), unit, OPERATION.EQUAL)
    odd.name = "odd"

    choice = network.add_if_conditional()
    choice.name = "parity"
    choice.set_condition(odd)
    inside = choice.add_input(n.get_output(0)).get_output(0)
    tripled = apply(apply(inside, three, OPERATION.PROD), unit, OPERATION.SUM)
    halved = apply(inside, two, OPERATION.DIV)
    following = choice.add_output(tripled, halved).get_output(0)
    following.name = "n_next"
    n.set_input(1, following)
    steps.set_input(1, apply(steps.get_output(0), unit, OPERATION.SUM))

    taken = inner.add_loop_output(steps.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
    taken.name = "taken"
    collected = outer.add_loop_output(taken, trt.LoopOutput.CONCATENATE)
    collected.set_input(1, count)
    collected.get_output(0).name = "all_taken"
    network.mark_output(collected.get_output(0))
