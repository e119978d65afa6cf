"""Drivers, which iterate a kernel's loop over the arguments of a call, and ``set_call``, which selects one of them."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset
cimport numpy as np
from numpy cimport npy_intp

from .call cimport MAX_ARGS, Call, inner_loop
from .kernel cimport Kernel, opcode_of_function
from .processor cimport loopdbg_cpu, current_processor
from .thread_pool cimport loopdbg_parallel_for, loopdbg_thread_pool, pool_info, pool_parallel_for

import numpy as np

cdef extern from "kernels/data_movement/row_loops.h" nogil:
    void loopdbg_copy_rows(char *dst, const char *src, npy_intp rows, npy_intp bytes, npy_intp dst_step,
                           npy_intp src_step) noexcept
    void loopdbg_where_rows(char **, const npy_intp *, const npy_intp *, void *) noexcept
    int loopdbg_gather(const char *x, const char *indices, char *out, npy_intp outer, npy_intp length, npy_intp block,
                       npy_intp n, npy_intp index_size) noexcept

cdef extern from "kernels/reduce/argminmax.h" nogil:
    int loopdbg_argminmax(char type, const char *x, int64_t *out, npy_intp outer, npy_intp n, npy_intp inner, int max,
                    int last) noexcept

cdef extern from "kernels/gemm/small_products.h" nogil:
    ctypedef struct SmallTiling "loopdbg_small_tiling":
        int vector
        npy_intp few
        npy_intp most_few
        npy_intp most
    bint loopdbg_is_small(const SmallTiling *edges, npy_intp m, npy_intp k, npy_intp n) noexcept
    enum:
        LOOPDBG_DOT_MAX_TERMS
        LOOPDBG_ATTENTION_HEAD_MAX
    void loopdbg_product(const SmallTiling *edges, const float *x, const float *b, float *out, npy_intp m, npy_intp k, npy_intp n,
                         const float *start, npy_intp step) noexcept
    void loopdbg_products(const SmallTiling *edges, char **args, const npy_intp *dims, const npy_intp *steps,
                          const npy_intp *axis) noexcept

cdef extern from "kernels/gemm/packed_weights.h" nogil:
    enum:
        LOOPDBG_PANEL_COLUMNS
    ctypedef struct Tiling "loopdbg_tiling":
        int most_rows
        int strip
        const Tiling *halves
        const Tiling *bytes
        const SmallTiling *edges
    const Tiling *loopdbg_tiling_for_cpu() noexcept
    void loopdbg_packed_product(const Tiling *tiling, const float *x, const void *weights, float *out, npy_intp m, npy_intp k,
                        npy_intp n, int backwards, const float *start, npy_intp step) noexcept

cdef extern from "kernels/threads/blas_fork_guard.h" nogil:
    void loopdbg_blas_install_fork_handlers() noexcept
    void loopdbg_blas_begin_call() noexcept
    void loopdbg_blas_end_call() noexcept

cdef extern from "kernels/data_movement/fast_memcpy.h" nogil:
    void loopdbg_memcpy(char *target, const char *source, size_t n) noexcept

np.import_array()
loopdbg_cpu = current_processor()
loopdbg_blas_install_fork_handlers()
loopdbg_parallel_for, loopdbg_thread_pool = pool_parallel_for(), pool_info()

cdef enum:
    MAX_OUTER = 32     # outer axes of a call
    NUMPY_BUILTIN_TYPES = 24      # type numbers of NumPy's built-in types are below

# Columns of a panel of weights, and maximum number of rows of a product with panels (packed_weights.h).
PANEL_COLUMNS = LOOPDBG_PANEL_COLUMNS
PANEL_MAX_ROWS = loopdbg_tiling_for_cpu().most_rows

# Rows up to this length go to loops over two axes.
cdef int SHORT_ROW_MAX_ELEMENTS = 512


def panel_strip_columns():
    """Number of adjacent columns of a panel."""
    return loopdbg_tiling_for_cpu().strip


def supports_float16_weights():
    """Whether products with panels accept float16 weights."""
    return loopdbg_tiling_for_cpu().halves != NULL


def supports_int8_weights():
    """Whether products with panels accept scaled int8 weights."""
    return loopdbg_tiling_for_cpu().bytes != NULL


def transposes_columns(Kernel kernel, m, k, n):
    """Does each call of a product with a transposed matrix transpose its columns, in memory or in registers?"""
    return n != 1 and is_small_tile_product(kernel, m, k, n)


def is_small_tile_product(Kernel kernel, m, k, n):
    """Is a product summed in one order, whatever its layout? Like ``loopdbg_is_small``, for extents that may vary."""
    cdef const SmallTiling *edges = loopdbg_tiling_for_cpu().edges
    if kernel.driver != "product":
        return False
    if type(m) is int and type(k) is int and type(n) is int:
        return loopdbg_is_small(edges, m, k, n)
    if n == 1:
        return m * k <= LOOPDBG_DOT_MAX_TERMS
    if m == 1 and k > LOOPDBG_ATTENTION_HEAD_MAX and n > LOOPDBG_ATTENTION_HEAD_MAX:
        return False
    return k * n <= (edges.most_few if m <= edges.few else edges.most)


def ordered_product(a, b, start=None):
    """``start + a [..., k] @ b [k, n]`` of float32 arrays, each summed in the order of packed_weights.h."""
    cdef np.ndarray x = np.ascontiguousarray(a), weights = np.ascontiguousarray(b), begin
    cdef np.ndarray out = np.empty((*a.shape[: a.ndim - 1], b.shape[1]), np.float32)
    cdef npy_intp k = b.shape[0], n = b.shape[1], m = out.size // n
    cdef const float *first = NULL
    if start is not None:
        begin = np.ascontiguousarray(np.broadcast_to(start, (<object>out).shape))
        first = <const float *>np.PyArray_DATA(begin)
    with nogil:
        loopdbg_product(loopdbg_tiling_for_cpu().edges, <const float *>np.PyArray_DATA(x), <const float *>np.PyArray_DATA(weights),
                        <float *>np.PyArray_DATA(out), m, k, n, first, n)
    return out

def run_kernel(Kernel kernel, tuple arrays, tuple dims=(), tuple steps=(), tuple outer=(), tuple extra=()):
    """Run a kernel on arrays, inputs then output, as the engine runs it on slots. False: not possible.

    The arrays are aligned, and contiguous where no steps are given.
    """
    cdef Call call
    cdef char *data[MAX_ARGS]
    cdef npy_intp axes[MAX_OUTER * (MAX_ARGS + 1)]
    cdef int j, n = 0
    if len(outer) > MAX_OUTER:
        raise ValueError(f"{len(outer)} outer axes")
    init_arguments(&call, data, arrays)
    for j, value in enumerate(dims):
        call.dims[j] = value
    for j, value in enumerate(steps):
        call.steps[j] = value
    for j, value in enumerate(extra):
        call.extra[j] = value
    call.nouter, call.outer = <int>len(outer), axes
    for row in outer:
        for value in row:
            axes[n] = value
            n += 1
    set_kernel(&call, kernel)
    with nogil:
        j = call.run(&call)
    return j == 0


cdef int init_arguments(Call *call, char **data, tuple arrays) except -1:
    """A call with nothing but its arguments."""
    cdef int j, k
    memset(call, 0, sizeof(Call))
    call.nargs = <int>len(arrays)
    for j in range(call.nargs):
        data[j] = np.PyArray_BYTES(arrays[j])
        call.cell[j] = data + j
        for k in range(j):
            if data[k] == data[j]:
                call.cell[j] = data + k     # as in a reduction
    return 0


def aligned_array(x):
    """An aligned array, as kernels need it."""
    return x if isinstance(x, np.ndarray) and np.PyArray_ISALIGNED(x) else np.array(x, order="C")


def map_arrays(Kernel kernel, tuple inputs):
    """The result of an elementwise kernel for arrays of one shape, or single elements, in row-major order.

    None: not possible. NotImplemented: the arrays have another layout.
    """
    cdef int j, k, rank = -1, count = <int>len(inputs)
    cdef npy_intp n = 1
    cdef Call call
    cdef char *data[MAX_ARGS]
    cdef np.ndarray x, widest = None
    for j in range(count):
        if not isinstance(inputs[j], np.ndarray):
            return NotImplemented
        x = inputs[j]
        if not np.PyArray_IS_C_CONTIGUOUS(x) or not np.PyArray_ISALIGNED(x):
            return NotImplemented
        if widest is None or (n == 1 and (np.PyArray_SIZE(x) != 1 or np.PyArray_NDIM(x) > rank)):
            widest, rank, n = x, np.PyArray_NDIM(x), np.PyArray_SIZE(x)
    for j in range(count):
        x = inputs[j]
        if np.PyArray_NDIM(x) > rank:
            return NotImplemented
        if np.PyArray_SIZE(x) != 1:
            if np.PyArray_NDIM(x) != rank:
                return NotImplemented
            for k in range(rank):
                if np.PyArray_DIM(x, k) != np.PyArray_DIM(widest, k):
                    return NotImplemented
    if (<np.dtype>kernel.out).type_num < NUMPY_BUILTIN_TYPES:
        out = np.PyArray_EMPTY(rank, np.PyArray_DIMS(widest), (<np.dtype>kernel.out).type_num, 0)
    else:
        out = np.empty((<object>widest).shape, kernel.out)
    if n == 0:
        return out
    init_arguments(&call, data, (*inputs, out))
    call.dims[0] = n
    for j in range(count):
        x = inputs[j]
        call.steps[j] = 0 if np.PyArray_SIZE(x) == 1 else np.PyArray_ITEMSIZE(x)
    call.steps[count] = 0 if n == 1 else (<np.dtype>kernel.out).itemsize
    set_kernel(&call, kernel)
    with nogil:
        j = call.run(&call)
    return out if j == 0 else None


# Drivers. Each reads its addresses from the cells.

cdef int run_loop(Call *c) noexcept nogil:
    cdef char *args[MAX_ARGS]
    cdef int j
    for j in range(c.nargs):
        args[j] = c.cell[j][0] + c.offset[j]
    c.loop(args, c.dims, c.steps, c.data)
    return 0


cdef inline int iterate_outer_axes(Call *c, int nouter, inner_loop loop, void *data) noexcept nogil:
    """Iterate over the first ``nouter`` outer axes; the inner loop handles the others."""
    cdef char *args[MAX_ARGS]
    cdef npy_intp index[MAX_OUTER]
    cdef npy_intp *axis
    cdef int j, d, width = c.nargs + 1
    for j in range(c.nargs):
        args[j] = c.cell[j][0] + c.offset[j]
    for d in range(nouter):
        index[d] = 0
    while True:
        loop(args, c.dims, c.steps, data)
        d = nouter - 1
        while d >= 0:
            axis = c.outer + d * width
            index[d] += 1
            if index[d] < axis[0]:
                for j in range(c.nargs):
                    args[j] += axis[1 + j]
                break
            for j in range(c.nargs):
                args[j] -= axis[1 + j] * (axis[0] - 1)
            index[d] = 0
            d -= 1
        if d < 0:
            return 0


cdef int run_outer(Call *c) noexcept nogil:
    return iterate_outer_axes(c, c.nouter, c.loop, c.data)


cdef int run_two_axes(Call *c) noexcept nogil:
    """A loop over the inner axis and the next outer one."""
    return iterate_outer_axes(c, c.nouter - 1, c.loop, c.outer + (c.nouter - 1) * (c.nargs + 1))


cdef void batched_small_products(char **args, const npy_intp *dims, const npy_intp *steps, void *axis) noexcept nogil:
    loopdbg_products(loopdbg_tiling_for_cpu().edges, args, dims, steps, <const npy_intp *>axis)


cdef int run_blas(Call *c) noexcept nogil:
    """A product of stacks of matrices by BLAS."""
    cdef int status
    loopdbg_blas_begin_call()
    status = run_outer(c) if c.nouter else run_loop(c)
    loopdbg_blas_end_call()
    return status


cdef int run_product(Call *c) noexcept nogil:
    """The same, unless it is small."""
    if not loopdbg_is_small(loopdbg_tiling_for_cpu().edges, c.dims[1], c.dims[2], c.dims[3]):
        return run_blas(c)
    if c.nouter:
        return iterate_outer_axes(c, c.nouter - 1, batched_small_products, c.outer + (c.nouter - 1) * (c.nargs + 1))
    return iterate_outer_axes(c, 0, batched_small_products, NULL)


cdef int run_three_axes(Call *c) noexcept nogil:
    """A loop over the inner axis and the next two outer ones."""
    return iterate_outer_axes(c, c.nouter - 2, c.loop, c.outer + (c.nouter - 2) * (c.nargs + 1))


cdef int run_checked(Call *c) noexcept nogil:
    c.status = 0
    if c.nouter:
        run_outer(c)
    else:
        run_loop(c)
    return c.status


cdef inline int64_t read_int(const char *p, npy_intp size) noexcept nogil:
    return (<const int64_t *>p)[0] if size == 8 else (<const int32_t *>p)[0]


cdef int run_gather(Call *c) noexcept nogil:
    """extra: outer count, axis length, block bytes, number of indices, bytes of an index."""
    return loopdbg_gather(c.cell[0][0] + c.offset[0], c.cell[1][0] + c.offset[1], c.cell[2][0] + c.offset[2],
                          c.extra[0], c.extra[1], c.extra[2], c.extra[3], c.extra[4])


cdef int run_dynamic_slice(Call *c) noexcept nogil:
    """extra: outer count, axis length, block bytes, length of the result, bytes of start, bytes of end."""
    cdef const char *x = c.cell[0][0] + c.offset[0]
    cdef int64_t length = c.extra[1]
    cdef int64_t start = read_int(c.cell[1][0] + c.offset[1], c.extra[4])
    cdef int64_t end = read_int(c.cell[2][0] + c.offset[2], c.extra[5])
    cdef char *out = c.cell[3][0] + c.offset[3]
    cdef npy_intp block = c.extra[2], o
    if start < 0:
        start += length
    if end < 0:
        end += length
    start = min(max(start, 0), length)
    end = min(max(end, 0), length)
    if max(end - start, 0) != c.extra[3]:
        return 1
    for o in range(c.extra[0]):
        loopdbg_memcpy(out, x + (o * length + start) * block, block * c.extra[3])
        out += block * c.extra[3]
    return 0


cdef int run_arg_reduction(Call *c) noexcept nogil:
    """extra: type character, outer, axis length, inner, is max, is last."""
    return loopdbg_argminmax(<char>c.extra[0], c.cell[0][0] + c.offset[0], <int64_t *>(c.cell[1][0] + c.offset[1]),
                       c.extra[1], c.extra[2], c.extra[3], <int>c.extra[4], <int>c.extra[5])


cdef int run_packed_product(Call *c) noexcept nogil:
    """Rows, weights, start of sums (optional), the product. dims: rows, length of a sum, columns; extra: layout of the
    weights (0: plain, 1: panels, 2: panels of float16, 3: of bytes), read backwards every other time; row stride of the
    start."""
    cdef const Tiling *best = loopdbg_tiling_for_cpu()
    cdef const Tiling *tiling = best if c.extra[0] < 2 else best.halves if c.extra[0] == 2 else best.bytes
    cdef const float *x = <const float *>(c.cell[0][0] + c.offset[0])
    cdef const float *weights = <const float *>(c.cell[1][0] + c.offset[1])
    cdef const float *start = NULL
    cdef int last = c.nargs - 1
    cdef float *out = <float *>(c.cell[last][0] + c.offset[last])
    if last == 3:
        start = <const float *>(c.cell[2][0] + c.offset[2])
    if not c.extra[0]:
        loopdbg_product(best.edges, x, weights, out, c.dims[0], c.dims[1], c.dims[2], start, c.extra[1])
        return 0
    if tiling == NULL:
        return 1
    c.status = not c.status
    loopdbg_packed_product(tiling, x, weights, out, c.dims[0], c.dims[1], c.dims[2], not c.status, start, c.extra[1])
    return 0


cdef bint is_row_copy(const Call *call) noexcept nogil:
    """A copy of rows that are contiguous."""
    cdef npy_intp size = <npy_intp><void *>call.data
    return call.nouter == 1 and call.steps[0] == size and call.steps[1] == size


cdef int run_copy_rows(Call *c) noexcept nogil:
    loopdbg_copy_rows(c.cell[1][0] + c.offset[1], c.cell[0][0] + c.offset[0], c.outer[0],
                      c.dims[0] * <npy_intp><void *>c.data, c.outer[2], c.outer[1])
    return 0


cdef int run_skip(Call *c) noexcept nogil:
    """Skip the next ``extra[0]`` calls."""
    return -<int>c.extra[0]


cdef int compute_hoisted_block(Call *c) noexcept nogil:
    """Compute values that depend on the iteration number alone, for a block of iterations at once or for one.

    The calls after this one: ``sources`` copies from sliced inputs and others, ``calls`` in total, which fill a block;
    one that reads an iteration's row from it; a skip; the same for one iteration, copies first. Copies and the row's
    call have their offset and its increment per iteration in ``extra``.

    dims: iterations in a block, sources, calls, bytes of a trip count (0: none). extra: number of iterations that the
    sources allow, bytes of the iteration number, the condition can end the loop earlier, the block's first iteration
    (-1: no block).
    """
    cdef npy_intp i = <npy_intp>read_int(c.cell[0][0] + c.offset[0], c.extra[1])
    cdef npy_intp size = c.dims[0], remaining = c.extra[0] - i
    cdef npy_intp k, trips, base
    cdef Call *call
    cdef bint inside
    if i < 0 or remaining <= 0:
        return 1
    if i == 0:
        c.extra[3] = -1     # the loop was entered again, and sliced inputs may have changed
    base = c.extra[3]
    inside = 0 <= base <= i < base + size
    if not inside:
        if c.extra[2]:
            remaining = min(remaining, i)      # as many again as have run: a condition may end it any time
        elif c.dims[3]:
            trips = <npy_intp>read_int(c.cell[1][0] + c.offset[1], c.dims[3])
            if 0 <= trips - i < remaining:
                remaining = trips - i
        # A block costs about as much as a quarter of its iterations one by one.
        if 4 * remaining < size:
            for k in range(c.dims[1]):
                call = c + c.dims[2] + 3 + k
                call.offset[0] = call.extra[0] + i * call.extra[1]
            return -<int>(c.dims[2] + 2)
        base = min(i, c.extra[0] - size)
        c.extra[3] = base
        for k in range(c.dims[1]):
            call = c + 1 + k
            call.offset[0] = call.extra[0] + base * call.extra[1]
    call = c + 1 + c.dims[2]
    call.offset[0] = call.extra[0] + (i - base) * call.extra[1]
    return -<int>c.dims[2] if inside else 0


cdef bint is_scalar_call(const Call *call) noexcept nogil:
    """Is a call one elementwise inner loop on a single element, and nothing else?"""
    return call.elementwise and call.run == run_loop and call.dims[0] == 1 and not call.nouter


cdef bint is_gather(const Call *call) noexcept nogil:
    return call.run == run_gather


cdef bint is_self_contained(const Call *call) noexcept nogil:
    """Does a call depend only on its arguments? It may then be copied, and run on other memory."""
    return call.run != compute_hoisted_block and call.run != run_skip


cdef bint is_small_product(const Call *call) noexcept nogil:
    """Is a call one product of float32 matrices whose elements are each summed in order, from 0 on?"""
    return call.run == run_product and not call.nouter and \
        loopdbg_is_small(loopdbg_tiling_for_cpu().edges, call.dims[1], call.dims[2], call.dims[3])


cdef bint is_arg_reduction(const Call *call) noexcept nogil:
    """Does a call search for the indices of extremes?"""
    return call.run == run_arg_reduction


cdef bint has_fma() noexcept nogil:
    """Does this processor use fused multiply-add?"""
    return loopdbg_tiling_for_cpu().edges.vector > 4


cdef void copy_call(Call *to, const Call *call) noexcept nogil:
    """Copy a call, sharing cells and outer axes."""
    to[0] = call[0]
    if call.data == &call.status:
        to.data = &to.status


cdef void invalidate_iteration_block(Call *call) noexcept nogil:
    """Make a call recompute its block, if it handles blocks."""
    if call.run == compute_hoisted_block:
        call.extra[3] = -1


cdef bint is_inner_reduction(const Call *call) noexcept:
    """Does a call reduce along its inner axis?"""
    return call.steps[0] == 0 and call.steps[2] == 0 and call.cell[0] == call.cell[2] and call.offset[0] == call.offset[2]


cdef bint is_outer_reduction(Call *call, int depth) noexcept:
    """Does a call reduce along the ``depth``-th outer axis from the inside, but not along those between?"""
    cdef npy_intp *axis
    cdef int d
    if call.nargs != 3 or call.nouter < depth or call.cell[0] != call.cell[2] or call.offset[0] != call.offset[2] or \
            call.steps[0] == 0 or call.steps[0] != call.steps[2]:
        return False
    for d in range(1, depth + 1):
        axis = call.outer + (call.nouter - d) * 4
        if axis[1] != axis[3] or (axis[1] == 0) != (d == depth):
            return False
    return True


cdef bint short_rows(Call *call, Kernel k) noexcept:
    """Does a loop over two axes fit a call: a map, or an in-place fold?"""
    cdef npy_intp size
    cdef npy_intp *step = call.steps
    if k.rows == NULL or not call.nouter:
        return False
    size = k.out.itemsize
    if step[2] == 0:
        return k.fold_contiguous_rows != NULL and is_inner_reduction(call) and step[1] == size
    return call.dims[0] <= SHORT_ROW_MAX_ELEMENTS and step[2] == size and step[0] + step[1] >= size and \
        step[0] in (0, size) and step[1] in (0, size)


cdef bint transposes_matrix(Call *call, Kernel k) noexcept:
    """Does a copy or a conversion transpose a matrix: is the source contiguous along the outer axis?"""
    cdef npy_intp *axis
    if k.transpose_loop == NULL or not call.nouter or call.dims[0] < 4:
        return False
    axis = call.outer + (call.nouter - 1) * (call.nargs + 1)
    return axis[0] >= 4 and axis[1] == k.sizes[0] and call.steps[1] == k.sizes[1] and call.steps[0] > k.sizes[0]


cdef bint is_row_selection(Call *call, Kernel k) noexcept:
    """Are whole contiguous rows selected from one source or the other?"""
    cdef npy_intp size = <npy_intp>k.data
    return k.driver == "where" and call.nouter and not call.steps[0] and call.dims[0] > 1 and \
        call.steps[1] == size and call.steps[2] == size and call.steps[3] == size


def narrow_extent_ranges(Kernel k, dims, steps, outer):
    """Make the comparisons of ``set_kernel`` on symbolic extents, which narrows the range in which they hold."""
    if k.scalar_run != NULL and dims and not outer:
        dims[0] == 1
    if not k.exact and dims and not outer:
        dims[0] == 1
    if k.fold != NULL:
        steps[0] == 0, steps[2] == 0, steps[1] == k.out.itemsize, steps[0] == steps[1]
    if k.fold_outer_axis != NULL and outer:
        for row in (steps, *[row[1:] for row in outer]):
            row[0] == 0, row[0] == row[2]
    if k.driver == "copy" and outer:
        for step in steps:
            step == k.out.itemsize
    if k.driver == "where" and outer:
        steps[0] == 0, dims[0] > 1
        for step in steps[1:]:
            step == k.out.itemsize
    if k.rows != NULL and outer and not dims[0] > SHORT_ROW_MAX_ELEMENTS:
        size = k.out.itemsize
        steps[0] + steps[1] >= size
        for step in steps:
            step == 0, step == size


cdef int set_call(Call *call, object spec, npy_intp *outer) except -1:
    """Fill in a call of which only cells and offsets are set. Returns how many numbers of ``outer`` it used."""
    cdef int j, used = 0
    call.nargs, call.nouter, call.outer = len(spec.buffers), len(spec.outer), outer
    for j, value in enumerate(spec.dims):
        call.dims[j] = value
    for j, value in enumerate(spec.steps):
        call.steps[j] = value
    for j, value in enumerate(spec.extra):
        call.extra[j] = value
    for row in spec.outer:
        for value in row:
            outer[used] = value
            used += 1
    set_kernel(call, spec.kernel)
    return used


cdef int set_kernel(Call *call, object kernel) except -1:
    """Fill in the fields from a call's kernel; dims, steps, cells and outer axes are set already."""
    cdef Kernel k = kernel
    cdef int j
    call.loop, call.data, call.elementwise = k.loop, k.data, k.elementwise
    call.operation = 1 + opcode_of_function(k.scalar_run) if k.elementwise and k.exact else 0
    if k.elementwise and not k.exact and call.dims[0] == 1 and not call.nouter:
        # A single element is computed with the vector loop, as if contiguous.
        for j in range(call.nargs):
            call.steps[j] = k.sizes[j]
    if k.scalar_run != NULL and call.dims[0] == 1 and not call.nouter:
        call.run = k.scalar_run
    elif k.fold_outer_axis != NULL and is_outer_reduction(call, 1) and \
            (not k.contiguous_only or call.steps[0] == call.steps[1] == k.out.itemsize):
        call.loop, call.run, call.elementwise, call.operation = k.fold_outer_axis, run_two_axes, False, -call.operation
    elif k.fold_outer_rows != NULL and is_outer_reduction(call, 2):
        call.loop, call.run, call.elementwise, call.operation = k.fold_outer_rows, run_three_axes, False, -call.operation
    elif short_rows(call, k):
        # 5x for rows of 16, 2x for rows of 64: other loops are called once a row.
        call.loop, call.run = k.rows, run_two_axes
        if call.steps[2] == 0:
            call.loop, call.operation = k.fold_contiguous_rows, -call.operation
    elif transposes_matrix(call, k):
        call.loop, call.run = k.transpose_loop, run_two_axes
    elif is_row_selection(call, k):
        call.loop = loopdbg_where_rows
        call.run = run_two_axes
    elif k.driver == "copy" and is_row_copy(call):
        call.run = run_copy_rows
    elif k.driver in ("loop", "copy", "where"):
        if k.fold != NULL and is_inner_reduction(call):
            contiguous = k.fold_contiguous != NULL and call.steps[1] == k.out.itemsize
            call.loop = k.fold_contiguous if contiguous else k.fold
            call.elementwise, call.operation = False, -call.operation
        call.run = run_outer if call.nouter else run_loop
    elif k.driver == "product":
        call.run = run_product
    elif k.driver == "blas":
        call.run = run_blas
    elif k.driver == "checked":
        call.data = &call.status
        call.run = run_checked
    elif k.driver == "gather":
        call.run = run_gather
    elif k.driver == "slice_at":
        call.run = run_dynamic_slice
    elif k.driver == "panels":
        call.run = run_packed_product
    elif k.driver == "block":
        call.run = compute_hoisted_block
    elif k.driver == "skip":
        call.run = run_skip
    elif k.driver == "routine":
        call.run = k.routine
    elif k.driver == "arg":
        call.run = run_arg_reduction
    else:
        raise ValueError(f"no driver {k.driver!r}")
    return 0
