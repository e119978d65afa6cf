"""Iterators over a matrix by rows and by columns, forwards and backwards; loop outputs in both orders."""

import numpy as np
import tensorrt as trt

ROWS, COLUMNS = 2, 3


def walk(network, matrix, axis, reverse, name):
    """A loop over the slices of a matrix that computes their cumulative sum."""
    count = (ROWS, COLUMNS)[axis]
    length = (COLUMNS, ROWS)[axis]
    trips = network.add_constant((), np.array([count], np.int32)).get_output(0)
    loop = network.add_loop()
    loop.name = name
    loop.add_trip_limit(trips, trt.TripLimit.COUNT)
    part = loop.add_iterator(matrix, axis, reverse)
    part.get_output(0).name = f"{name}_part"
    zeros = network.add_constant((length,), np.zeros(length, np.float32)).get_output(0)
    total = loop.add_recurrence(zeros)
    total.get_output(0).name = f"{name}_total"
    added = network.add_elementwise(total.get_output(0), part.get_output(0), trt.ElementWiseOperation.SUM)
    added.get_output(0).name = f"{name}_added"
    total.set_input(1, added.get_output(0))
    for kind, order in ((trt.LoopOutput.CONCATENATE, "in_order"), (trt.LoopOutput.REVERSE, "reversed")):
        collected = loop.add_loop_output(added.get_output(0), kind, axis)
        collected.set_input(1, trips)
        collected.get_output(0).name = f"{name}_{order}"
        network.mark_output(collected.get_output(0))


def build(network):
    matrix = network.add_input("matrix", trt.float32, (ROWS, COLUMNS))
    walk(network, matrix, 0, False, "rows")
    walk(network, matrix, 0, True, "rows_backwards")
    walk(network, matrix, 1, False, "columns")
    walk(network, matrix, 1, True, "columns_backwards")
