"""The counter of the lessons in TensorRT: kWHILE receives the condition itself."""

import numpy as np
import tensorrt as trt


def build(network):
    """Fill a network: inputs start, step and limit; outputs got, gave and last."""
    start, step, limit = (network.add_input(name, trt.int32, ()) for name in ("start", "step", "limit"))
    loop = network.add_loop()
    loop.name = "ahead"
    recurrence = loop.add_recurrence(start)
    count = recurrence.get_output(0)
    count_next = network.add_elementwise(count, step, trt.ElementWiseOperation.SUM).get_output(0)
    below = network.add_elementwise(count_next, limit, trt.ElementWiseOperation.LESS).get_output(0)
    count.name, count_next.name, below.name = "count", "count_next", "below"
    recurrence.set_input(1, count_next)
    loop.add_trip_limit(below, trt.TripLimit.WHILE)
    # The length of the outputs has to be known in advance: the number of steps below the limit.
    unit = network.add_constant((), np.array(1, np.int32)).get_output(0)
    distance = network.add_elementwise(limit, start, trt.ElementWiseOperation.SUB).get_output(0)
    last_distance = network.add_elementwise(distance, unit, trt.ElementWiseOperation.SUB).get_output(0)
    length = network.add_elementwise(last_distance, step, trt.ElementWiseOperation.FLOOR_DIV).get_output(0)
    length.name = "most"
    for name, collected in (("got", count), ("gave", count_next)):
        output = loop.add_loop_output(collected, trt.LoopOutput.CONCATENATE, 0)
        output.name = name
        output.set_input(1, length)
        output.get_output(0).name = name
        network.mark_output(output.get_output(0))
    last = loop.add_loop_output(count, trt.LoopOutput.LAST_VALUE).get_output(0)
    last.name = "last"
    network.mark_output(last)
