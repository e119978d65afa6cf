"""A loop in a loop with a conditional: the steps that 3n + 1 takes from each of some numbers down to 1."""

import numpy as np
import tensorrt as trt

OPERATION = trt.ElementWiseOperation


def build(network):
    numbers = network.add_input("numbers", trt.int32, (4,))

    def number(value):
        return network.add_constant((), np.array([value], np.int32)).get_output(0)

    def of(a, b, operation):
        return network.add_elementwise(a, b, operation).get_output(0)

    count, one, two, three = number(4), number(1), number(2), number(3)
    outer = network.add_loop()
    outer.name = "numbers"
    outer.add_trip_limit(count, trt.TripLimit.COUNT)
    start = outer.add_iterator(numbers).get_output(0)
    start.name = "start"

    inner = network.add_loop()
    inner.name = "collatz"
    n, steps = inner.add_recurrence(start), inner.add_recurrence(number(0))
    n.get_output(0).name, steps.get_output(0).name = "n", "steps"
    more = of(n.get_output(0), one, OPERATION.GREATER)
    more.name = "more"
    inner.add_trip_limit(more, trt.TripLimit.WHILE)
    quotient = of(n.get_output(0), two, OPERATION.DIV)
    odd = of(of(n.get_output(0), of(quotient, two, OPERATION.PROD), OPERATION.SUB), one, OPERATION.EQUAL)
    odd.name = "odd"

    choice = network.add_if_conditional()
    choice.name = "parity"
    choice.set_condition(odd)
    inside = choice.add_input(n.get_output(0)).get_output(0)
    tripled = of(of(inside, three, OPERATION.PROD), one, OPERATION.SUM)
    halved = of(inside, two, OPERATION.DIV)
    following = choice.add_output(tripled, halved).get_output(0)
    following.name = "n_next"
    n.set_input(1, following)
    steps.set_input(1, of(steps.get_output(0), one, OPERATION.SUM))

    taken = inner.add_loop_output(steps.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
    taken.name = "taken"
    collected = outer.add_loop_output(taken, trt.LoopOutput.CONCATENATE)
    collected.set_input(1, count)
    collected.get_output(0).name = "all_taken"
    network.mark_output(collected.get_output(0))
