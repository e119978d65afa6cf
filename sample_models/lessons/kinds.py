"""A loop of the lessons with TensorRT's three kinds of loop outputs; two have a length of six."""

import numpy as np
import tensorrt as trt


def build(network):
    """Fill a network: inputs n and x0; outputs last, all and back."""
    n, x0 = (network.add_input(name, trt.int32, ()) for name in ("n", "x0"))
    loop = network.add_loop()
    loop.name = "kinds"
    loop.add_trip_limit(n, trt.TripLimit.COUNT)
    recurrence = loop.add_recurrence(x0)
    x = recurrence.get_output(0)
    three = network.add_constant((), np.array(3, np.int32)).get_output(0)
    x_next = network.add_elementwise(x, three, trt.ElementWiseOperation.SUM).get_output(0)
    x.name, x_next.name = "x", "x_next"
    recurrence.set_input(1, x_next)
    length = network.add_constant((), np.array(6, np.int32)).get_output(0)
    kinds = (("last", x, trt.LoopOutput.LAST_VALUE), ("all", x, trt.LoopOutput.CONCATENATE))
    for name, collected, kind in (*kinds, ("back", x_next, trt.LoopOutput.REVERSE)):
        output = loop.add_loop_output(collected, kind, 0)
        if kind != trt.LoopOutput.LAST_VALUE:
            output.set_input(1, length)
        output.name = name
        output.get_output(0).name = name
        network.mark_output(output.get_output(0))
