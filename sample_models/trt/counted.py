"""A counted loop: x doubles n times; every iteration is collected, before and after its doubling."""

import numpy as np
import tensorrt as trt


def build(network):
    n = network.add_input("n", trt.int32, ())
    start = network.add_input("start", trt.float32, (3,))

    loop = network.add_loop()
    loop.name = "doubling"
    loop.add_trip_limit(n, trt.TripLimit.COUNT)
    x = loop.add_recurrence(start)
    x.get_output(0).name = "x"
    twice = network.add_elementwise(x.get_output(0), x.get_output(0), trt.ElementWiseOperation.SUM)
    twice.get_output(0).name = "twice"
    x.set_input(1, twice.get_output(0))

    # The recurrence includes the initial value, its next value does not. Both outputs have a length of eight.
    length = network.add_constant((), np.array([8], np.int32)).get_output(0)
    for tensor, name in ((x.get_output(0), "before"), (twice.get_output(0), "after")):
        collected = loop.add_loop_output(tensor, trt.LoopOutput.CONCATENATE, 0)
        collected.set_input(1, length)
        collected.get_output(0).name = name
        network.mark_output(collected.get_output(0))
    last = loop.add_loop_output(x.get_output(0), trt.LoopOutput.LAST_VALUE)
    last.get_output(0).name = "x_last"
    network.mark_output(last.get_output(0))
