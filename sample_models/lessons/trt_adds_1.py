"""A loop of the lessons: which trip limits has it?"""

import numpy as np
import tensorrt as trt


def build(network):
    """Fill a network: inputs x0, limit; output x_last."""
    x0, limit = (network.add_input(name, trt.int32, ()) for name in ("x0", "limit"))
    loop = network.add_loop()
    loop.name = "adds"
    recurrence = loop.add_recurrence(x0)
    x = recurrence.get_output(0)
    by = network.add_constant((), np.array(2, np.int32)).get_output(0)
    x_next = network.add_elementwise(x, by, trt.ElementWiseOperation.SUM).get_output(0)
    x.name, x_next.name = "x", "x_next"
    recurrence.set_input(1, x_next)
    more = network.add_elementwise(x, limit, trt.ElementWiseOperation.LESS).get_output(0)
    more.name = "more"
    loop.add_trip_limit(more, trt.TripLimit.WHILE)
    last = loop.add_loop_output(x, trt.LoopOutput.LAST_VALUE).get_output(0)
    last.name = "x_last"
    network.mark_output(last)
