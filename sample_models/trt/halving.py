"""A while loop: x is halved as long as it is above a limit. kWHILE is tested before each iteration."""

import numpy as np
import tensorrt as trt


def build(network):
    start = network.add_input("start", trt.float32, ())
    limit = network.add_input("limit", trt.float32, ())

    loop = network.add_loop()
    loop.name = "halving"
    x = loop.add_recurrence(start)
    x.get_output(0).name = "x"
    above = network.add_elementwise(x.get_output(0), limit, trt.ElementWiseOperation.GREATER)
    above.get_output(0).name = "above"
    loop.add_trip_limit(above.get_output(0), trt.TripLimit.WHILE)

    half = network.add_constant((), np.array([0.5], np.float32)).get_output(0)
    following = network.add_elementwise(x.get_output(0), half, trt.ElementWiseOperation.PROD)
    following.get_output(0).name = "x_half"
    x.set_input(1, following.get_output(0))

    last = loop.add_loop_output(x.get_output(0), trt.LoopOutput.LAST_VALUE)
    last.get_output(0).name = "x_last"
    network.mark_output(last.get_output(0))
    xs = loop.add_loop_output(x.get_output(0), trt.LoopOutput.CONCATENATE)
    xs.set_input(1, network.add_constant((), np.array([16], np.int32)).get_output(0))
    xs.get_output(0).name = "xs"
    network.mark_output(xs.get_output(0))
