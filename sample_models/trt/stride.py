"""``for (i = first; i < end; i += step)``: the index is a recurrence, its bound a kWHILE; squares are summed."""

import tensorrt as trt


def build(network):
    first, end, step = (network.add_input(name, trt.int32, ()) for name in ("first", "end", "step"))
    total = network.add_input("total", trt.int32, ())

    loop = network.add_loop()
    loop.name = "stride"
    i = loop.add_recurrence(first)
    i.get_output(0).name = "i"
    more = network.add_elementwise(i.get_output(0), end, trt.ElementWiseOperation.LESS)
    more.get_output(0).name = "more"
    loop.add_trip_limit(more.get_output(0), trt.TripLimit.WHILE)
    following = network.add_elementwise(i.get_output(0), step, trt.ElementWiseOperation.SUM)
    i.set_input(1, following.get_output(0))

    added = loop.add_recurrence(total)
    added.get_output(0).name = "added"
    square = network.add_elementwise(i.get_output(0), i.get_output(0), trt.ElementWiseOperation.PROD)
    square.get_output(0).name = "square"
    result = network.add_elementwise(added.get_output(0), square.get_output(0), trt.ElementWiseOperation.SUM)
    added.set_input(1, result.get_output(0))

    for layer, name in ((added, "sum"), (i, "i_last")):
        last = loop.add_loop_output(layer.get_output(0), trt.LoopOutput.LAST_VALUE)
        last.get_output(0).name = name
        network.mark_output(last.get_output(0))
