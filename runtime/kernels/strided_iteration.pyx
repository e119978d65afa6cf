"""Iteration over the arguments of a call: pure decisions on shapes and strides, of buffers and of arrays.

Compiled, because in Python these decisions take longer than the calls. The numbers may be symbolic extents
(symbolic_extents.py), which are Python objects.
"""


def broadcast_shapes(*shapes):
    """Like NumPy's function, for shapes that may be symbolic.

    Raises:
        ValueError: the shapes do not fit.
    """
    cdef Py_ssize_t d, rank = 0
    cdef tuple shape
    cdef list result
    first = shapes[0]
    for other in shapes:
        if other is not first:
            break
    else:
        return tuple(first)
    for other in shapes:
        rank = max(rank, len(other))
    result = [1] * rank
    for other in shapes:
        shape = tuple(other)
        for d in range(rank - len(shape), rank):
            extent = shape[d - rank + len(shape)]
            if extent != 1 and not (result[d] is extent or result[d] == extent):
                if result[d] != 1:
                    raise ValueError(f"shapes {', '.join([str(tuple(s)) for s in shapes])} cannot be broadcast together")
                result[d] = extent
    return tuple(result)


def stride_along(tuple shape, tuple strides, Py_ssize_t axis):
    """The stride along ``axis`` (negative, from the end) of a broadcast argument."""
    cdef Py_ssize_t d = axis + len(shape)
    return 0 if d < 0 or shape[d] == 1 else strides[d]


def iteration_axes(tuple shape, arguments):
    """The axes of ``shape`` with more than one step: extent, then a stride per argument (shape, strides)."""
    cdef Py_ssize_t rank = len(shape)
    return [[shape[d], *[stride_along(s, t, d - rank) for s, t in arguments]] for d in range(rank) if shape[d] != 1]


def coalesce_axes(list rows):
    """Join adjacent axes that all arguments can iterate as one."""
    cdef list row, last, joined = []
    cdef Py_ssize_t k
    for row in rows:
        if joined:
            last = joined[len(joined) - 1]
            for k in range(1, len(row)):
                if last[k] != row[k] * row[0]:
                    break
            else:
                joined[len(joined) - 1] = [last[0] * row[0], *row[1:]]
                continue
        joined.append(row)
    return joined


def choose_inner_axis(list rows):
    """The axis for the inner loop: the last, unless it is short and another one is much longer."""
    cdef Py_ssize_t d, longest = 0, last = len(rows) - 1
    for d in range(1, len(rows)):
        if rows[d][0] > rows[longest][0]:
            longest = d
    if last < 0:
        return -1
    return longest if rows[last][0] < 8 and rows[longest][0] >= 4 * rows[last][0] else last


cdef bint has_contiguous_rows(list rows, Py_ssize_t size):
    """Is the last axis contiguous, in the output and in all arguments that move along it, with many rows?

    Not if the output is constant along any axis: the iteration order determines the summation order of a reduction.
    """
    cdef list last = rows[len(rows) - 1]
    cdef Py_ssize_t k
    if len(rows) < 2 or last[len(last) - 1] != size or not rows[len(rows) - 2][0] >= 16:
        return False
    for k in range(1, len(last) - 1):
        if last[k] != 0 and last[k] != size:
            return False
    for row in rows:
        if row[len(row) - 1] == 0:
            return False
    return True


def plan_loops(tuple shape, arguments, Py_ssize_t short_rows=0):
    """Loops over arguments (shape, strides) that broadcast to ``shape``: dims and steps of the inner loop, and outer
    axes. ``short_rows``: element size if the kernel takes short rows directly (``Kernel.short_row_itemsize``)."""
    cdef list rows = coalesce_axes(iteration_axes(shape, arguments))
    cdef list inner
    if not rows:
        return (1,), (0,) * len(arguments), ()
    inner = rows.pop(len(rows) - 1 if short_rows and has_contiguous_rows(rows, short_rows) else choose_inner_axis(rows))
    return (inner[0],), tuple(inner[1:]), tuple([tuple(row) for row in rows])
