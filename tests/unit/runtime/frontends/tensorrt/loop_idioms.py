"""Scripts as they are written for TensorRT: fifteen ways to write loops, and what is around them."""

from __future__ import annotations

#: What most of them begin with.
HEAD = """\
import numpy as np
import tensorrt as trt

logger = trt.Logger(trt.Logger.ERROR)
builder = trt.Builder(logger)
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
config = builder.create_builder_config()
profile = builder.create_optimization_profile()


def k(shape, values, dtype=np.float32):
    return network.add_constant(shape, np.ascontiguousarray(np.array(values, dtype=dtype))).get_output(0)


def ew(a, b, op):
    return network.add_elementwise(a, b, op).get_output(0)


def out(tensor, name):
    tensor.name = name
    network.mark_output(tensor=tensor)

"""

TAIL = """
engine = builder.build_serialized_network(network, config)
if engine is None:
    print("build failed")
    raise SystemExit(1)
"""


def in_full(loops: str) -> str:
    return f"{HEAD}{loops}{TAIL}"


COUNTED = in_full("""
inputT0 = network.add_input("inputT0", trt.float32, (1, 2))
loop = network.add_loop()
limit = network.add_constant((), np.array([5], dtype=np.int32))
loop.add_trip_limit(limit.get_output(0), trt.TripLimit.COUNT)
rLayer = loop.add_recurrence(inputT0)
_H0 = network.add_elementwise(rLayer.get_output(0), rLayer.get_output(0), trt.ElementWiseOperation.SUM)
rLayer.set_input(1, _H0.get_output(0))
loopOutput0 = loop.add_loop_output(rLayer.get_output(0), trt.LoopOutput.LAST_VALUE, 0)
loopOutput1 = loop.add_loop_output(_H0.get_output(0), trt.LoopOutput.CONCATENATE, 0)
lengthLayer = network.add_constant((), trt.Weights(np.ascontiguousarray(np.array([6], dtype=np.int32))))
loopOutput1.set_input(1, lengthLayer.get_output(0))
out(loopOutput0.get_output(0), "last")
out(loopOutput1.get_output(0), "all")
print(loopOutput1.get_output(0).shape, loopOutput1.get_output(0).dtype)
""")

COUNT_FROM_INPUT = in_full("""
x = network.add_input("x", trt.float32, (2,))
n = network.add_input("n", trt.int32, (1,))
profile.set_shape_input("n", [1], [6], [9])
config.add_optimization_profile(profile)
shuffle = network.add_shuffle(n)
shuffle.reshape_dims = ()
count = network.add_reduce(n, trt.ReduceOperation.SUM, 1, False).get_output(0)
loop = network.add_loop()
loop.add_trip_limit(count, trt.TripLimit.COUNT)
r = loop.add_recurrence(x)
y = ew(r.get_output(0), k((1,), [1]), trt.ElementWiseOperation.SUM)
r.set_input(1, y)
o = loop.add_loop_output(y, trt.LoopOutput.CONCATENATE)
o.set_input(1, shuffle.get_output(0))
out(o.get_output(0), "rows")
assert o.get_output(0).shape[0] == -1
""")

WHILE_ON_STATE = in_full("""
x = network.add_input("x", trt.float32, (1, 3))
loop = network.add_loop()
r = loop.add_recurrence(x)
y = ew(r.get_output(0), r.get_output(0), trt.ElementWiseOperation.SUM)
r.set_input(1, y)
flat = network.add_shuffle(r.get_output(0))
flat.reshape_dims = [-1]
first = network.add_slice(flat.get_output(0), [0], [1], [1])
scalar = network.add_shuffle(first.get_output(0))
scalar.reshape_dims = []
d = network.add_activation(ew(k((), [32]), scalar.get_output(0), trt.ElementWiseOperation.SUB), trt.ActivationType.RELU)
cast = network.add_identity(d.get_output(0))
cast.set_output_type(0, trt.bool)
cast.get_output(0).dtype = trt.bool
loop.add_trip_limit(cast.get_output(0), trt.TripLimit.WHILE)
a = loop.add_loop_output(r.get_output(0), trt.LoopOutput.LAST_VALUE, 0)
b = loop.add_loop_output(r.get_output(0), trt.LoopOutput.CONCATENATE, 0)
b.set_input(1, k((), [7], np.int32))
out(a.get_output(0), "last")
out(b.get_output(0), "rows")
""")

WHILE_ON_COUNTER = in_full("""
x = network.add_input("x", trt.float32, (9, 2))
loop = network.add_loop()
i = loop.add_recurrence(k((), [1], np.int32))
loop.add_trip_limit(ew(i.get_output(0), k((), [9], np.int32), trt.ElementWiseOperation.LESS), trt.TripLimit.WHILE)
i.set_input(1, ew(i.get_output(0), k((), [3], np.int32), trt.ElementWiseOperation.SUM))
e = network.add_gather(x, i.get_output(0), 0).get_output(0)
o = loop.add_loop_output(e, trt.LoopOutput.CONCATENATE)
o.set_input(1, k((), [4], np.int32))
out(o.get_output(0), "rows")
""")

ACCUMULATE = in_full("""
x = network.add_input("x", trt.float32, (4, 3))
loop = network.add_loop()
loop.add_trip_limit(k((), [x.shape[0]], np.int32), trt.TripLimit.COUNT)
it = loop.add_iterator(x, 0, False)
r = loop.add_recurrence(k(tuple(x.shape)[1:], np.zeros(tuple(x.shape)[1:])))
y = ew(r.get_output(0), it.get_output(0), trt.ElementWiseOperation.SUM)
r.set_input(1, y)
all_of = loop.add_loop_output(y, trt.LoopOutput.CONCATENATE)
all_of.set_input(1, k((), [4], np.int32))
out(all_of.get_output(0), "sums")
out(loop.add_loop_output(r.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0), "total")
""")

REVERSAL = in_full("""
def flip(tensor, axis):
    loop = network.add_loop()
    n = k((), [tensor.shape[axis]], np.int32)
    loop.add_trip_limit(n, trt.TripLimit.COUNT)
    idle = loop.add_recurrence(k((1,), [0], np.int32))
    idle.set_input(1, ew(idle.get_output(0), k((1,), [1], np.int32), trt.ElementWiseOperation.SUM))
    it = loop.add_iterator(tensor, axis, True)
    o = loop.add_loop_output(it.get_output(0), trt.LoopOutput.CONCATENATE, axis)
    o.set_input(1, n)
    return o.get_output(0)


x = network.add_input("x", trt.float32, (2, 3))
y = x
for axis in (0, 1):
    y = flip(y, axis)
out(y, "flipped")
loop = network.add_loop()
n = k((), [3], np.int32)
loop.add_trip_limit(n, trt.TripLimit.COUNT)
o = loop.add_loop_output(loop.add_iterator(x, 1).get_output(0), trt.LoopOutput.REVERSE, 1)
o.set_input(1, n)
out(o.get_output(0), "reverse")
""")

LSTM = in_full("""
B, T, E, H = 2, 4, 3, 5
rng = np.random.default_rng(1)
W = rng.standard_normal((E, 4 * H)).astype(np.float32)
R = rng.standard_normal((H, 4 * H)).astype(np.float32)
bias = rng.standard_normal((1, 4 * H)).astype(np.float32)
x = network.add_input("x", trt.float32, (B, T, E))
w, rec, b = k(W.shape, W), k(R.shape, R), k(bias.shape, bias)
none = trt.MatrixOperation.NONE


def cell(x, h, c):
    a = network.add_matrix_multiply(x, none, w, none).get_output(0)
    g = ew(ew(a, network.add_matrix_multiply(h, none, rec, none).get_output(0), trt.ElementWiseOperation.SUM), b,
           trt.ElementWiseOperation.SUM)
    parts = []
    SIGMOID, TANH = trt.ActivationType.SIGMOID, trt.ActivationType.TANH
    for gate, kind in enumerate((SIGMOID, SIGMOID, TANH, SIGMOID)):
        part = network.add_slice(g, start=(0, gate * H), shape=(B, H), stride=(1, 1))
        parts.append(network.add_activation(part.get_output(0), kind).get_output(0))
    i, f, z, o = parts
    PROD = trt.ElementWiseOperation.PROD
    c1 = ew(ew(f, c, PROD), ew(i, z, PROD), trt.ElementWiseOperation.SUM)
    h1 = ew(o, network.add_activation(c1, TANH).get_output(0), PROD)
    return h1, c1


loop = network.add_loop()
loop.name = "lstm"
n = k((), [T], np.int32)
loop.add_trip_limit(n, trt.TripLimit.COUNT)
it = loop.add_iterator(x, 1, False)
h = loop.add_recurrence(k((B, H), np.zeros((B, H))))
c = loop.add_recurrence(k((B, H), np.zeros((B, H))))
h.name, c.name = "hidden", "cell"
h1, c1 = cell(it.get_output(0), h.get_output(0), c.get_output(0))
h.set_input(1, h1)
c.set_input(1, c1)
y = loop.add_loop_output(h1, trt.LoopOutput.CONCATENATE, 1)
y.set_input(1, n)
out(y.get_output(0), "y")
out(loop.add_loop_output(h.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0), "h")
out(loop.add_loop_output(c.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0), "c")
""")

DYNAMIC_RNN = in_full("""
x = network.add_input("x", trt.float32, (-1, -1, 3))
h0 = network.add_input("h0", trt.float32, (-1, 4))
profile.set_shape("x", (1, 1, 3), (2, 5, 3), (4, 9, 3))
profile.set_shape("h0", min=(1, 4), opt=(2, 4), max=(4, 4))
config.add_optimization_profile(profile)
size = network.add_slice(network.add_shape(x).get_output(0), [1], [1], [1])
t = network.add_shuffle(size.get_output(0))
t.reshape_dims = ()
W = k((3, 4), np.arange(12).reshape(3, 4) / 10)
R = k((4, 4), np.eye(4) / 2)
loop = network.add_loop()
loop.add_trip_limit(network.add_cast(t.get_output(0), trt.int32).get_output(0), trt.TripLimit.COUNT)
it = loop.add_iterator(x, 1)
h = loop.add_recurrence(h0)
none = trt.MatrixOperation.NONE
g = ew(network.add_matrix_multiply(it.get_output(0), none, W, none).get_output(0),
       network.add_matrix_multiply(h.get_output(0), none, R, none).get_output(0), trt.ElementWiseOperation.SUM)
y = network.add_activation(g, trt.ActivationType.TANH).get_output(0)
h.set_input(1, y)
o = loop.add_loop_output(y, trt.LoopOutput.CONCATENATE, 1)
o.set_input(1, t.get_output(0))
out(o.get_output(0), "y")
""")

CUMULATIVE_SUM = in_full("""
def cumsum(x, dim):
    shape = network.add_shape(x).get_output(0)
    length = network.add_slice(shape, [dim], [1], [1]).get_output(0)
    length = network.add_cast(length, trt.int32).get_output(0)
    n = network.add_reduce(length, trt.ReduceOperation.SUM, 1, False).get_output(0)
    loop = network.add_loop()
    loop.add_trip_limit(n, trt.TripLimit(0))
    it = loop.add_iterator(x, dim, reverse=False)
    element = tuple(x.shape)[:dim] + tuple(x.shape)[dim + 1:]
    zeros = k(element, np.zeros(element))
    unread = loop.add_recurrence(zeros)
    unread.set_input(1, it.get_output(0))
    r = loop.add_recurrence(zeros)
    y = ew(r.get_output(0), it.get_output(0), trt.ElementWiseOperation.SUM)
    r.set_input(1, y)
    o = loop.add_loop_output(y, trt.LoopOutput.CONCATENATE, dim)
    o.set_input(1, n)
    return o.get_output(0)


x = network.add_input("x", trt.float32, (2, 5, 3))
out(cumsum(x, 1), "y")
""")

INDEX_PAIRS = in_full("""
SUM, SUB, EQUAL = trt.ElementWiseOperation.SUM, trt.ElementWiseOperation.SUB, trt.ElementWiseOperation.EQUAL
n = network.add_input("n", trt.int32, ())
one, two = k((), [1], np.int32), k((), [2], np.int32)
last = ew(n, one, SUB)
pairs = ew(ew(n, last, trt.ElementWiseOperation.PROD), two, trt.ElementWiseOperation.FLOOR_DIV)
loop = network.add_loop()
loop.add_trip_limit(pairs, trt.TripLimit.COUNT)
row = loop.add_recurrence(k((), [0], np.int32))
col = loop.add_recurrence(one)
end = ew(col.get_output(0), last, EQUAL)
next_row = ew(row.get_output(0), one, SUM)
next_col = ew(col.get_output(0), one, SUM)
first = ew(next_row, one, SUM)
col.set_input(1, network.add_select(end, first, next_col).get_output(0))
row.set_input(1, network.add_select(end, next_row, row.get_output(0)).get_output(0))
columns = []
for r in (row, col):
    o = loop.add_loop_output(r.get_output(0), trt.LoopOutput.CONCATENATE)
    o.set_input(1, pairs)
    wide = network.add_shuffle(o.get_output(0))
    wide.reshape_dims = (-1, 1)
    columns.append(wide.get_output(0))
joined = network.add_concatenation(columns)
joined.axis = 1
out(joined.get_output(0), "pairs")
""")

BAGS = in_full("""
ELEMENT = trt.ElementWiseOperation
x = network.add_input("x", trt.float32, (6, 2))
offsets = network.add_input("offsets", trt.int32, (4,))
zero, one = k((), [0], np.int32), k((), [1], np.int32)
bags, rows = k((), [3], np.int32), k((), [6], np.int32)
zeros = k((6, 2), np.zeros((6, 2)))
L = network.add_loop()
L.add_trip_limit(bags, trt.TripLimit.COUNT)
i = L.add_recurrence(zero)
start = L.add_recurrence(network.add_gather(offsets, zero, 0).get_output(0))
end = L.add_recurrence(network.add_gather(offsets, one, 0).get_output(0))
M = network.add_loop()
M.add_trip_limit(rows, trt.TripLimit.COUNT)
j = M.add_recurrence(zero)
j.set_input(1, ew(j.get_output(0), one, ELEMENT.SUM))
before = ew(j.get_output(0), start.get_output(0), ELEMENT.LESS)
within = ew(j.get_output(0), end.get_output(0), ELEMENT.LESS)
inside = ew(network.add_unary(before, trt.UnaryOperation.NOT).get_output(0), within, ELEMENT.AND)
mask = M.add_loop_output(inside, trt.LoopOutput.CONCATENATE)
mask.set_input(1, rows)
wide = network.add_shuffle(mask.get_output(0))
wide.reshape_dims = (6, 1)
chosen = network.add_select(wide.get_output(0), x, zeros).get_output(0)
s = network.add_reduce(chosen, trt.ReduceOperation.SUM, 1, False).get_output(0)
nonempty = ew(start.get_output(0), end.get_output(0), ELEMENT.LESS)
c = network.add_if_conditional()
c.set_condition(nonempty)
v = c.add_output(s, k((2,), [-1, -1])).get_output(0)
o = L.add_loop_output(v, trt.LoopOutput.CONCATENATE, 0)
o.set_input(1, bags)
next_i = ew(i.get_output(0), one, ELEMENT.SUM)
i.set_input(1, next_i)
start.set_input(1, network.add_gather(offsets, next_i, 0).get_output(0))
end.set_input(1, network.add_gather(offsets, ew(next_i, one, ELEMENT.SUM), 0).get_output(0))
out(o.get_output(0), "sums")
""")

CHUNKS = in_full("""
x = network.add_input("x", trt.float32, (-1, 2))
profile.set_shape("x", (2, 2), (6, 2), (8, 2))
config.add_optimization_profile(profile)


def helper(part):
    return network.add_softmax(part).get_output(0)


apart = network.add_shuffle(x)
apart.reshape_dims = (-1, 2, 2)
count = network.add_gather(network.add_shape(apart.get_output(0)).get_output(0), k((), [0], np.int32), 0).get_output(0)
loop = network.add_loop()
loop.add_trip_limit(count, trt.TripLimit.COUNT)
it = loop.add_iterator(apart.get_output(0))
o = loop.add_loop_output(helper(it.get_output(0)), trt.LoopOutput.CONCATENATE)
o.set_input(1, count)
joined = network.add_shuffle(o.get_output(0))
joined.reshape_dims = (-1, 2)
out(joined.get_output(0), "y")
""")

ONLINE_SOFTMAX = in_full("""
ELEMENT, NONE, TRANSPOSE = trt.ElementWiseOperation, trt.MatrixOperation.NONE, trt.MatrixOperation.TRANSPOSE
BLOCK, D = 4, 3
q = network.add_input("q", trt.float32, (2, D))
key = network.add_input("k", trt.float32, (-1, D))
value = network.add_input("v", trt.float32, (-1, D))
profile.set_shape("k", (1, D), (6, D), (12, D))
profile.set_shape("v", (1, D), (6, D), (12, D))
config.add_optimization_profile(profile)
rows = network.add_slice(network.add_shape(key).get_output(0), [0], [1], [1]).get_output(0)
one, block = k((1,), [1], np.int64), k((1,), [BLOCK], np.int64)
up = ew(ew(rows, k((1,), [BLOCK - 1], np.int64), ELEMENT.SUM), block, ELEMENT.FLOOR_DIV)
padded = ew(up, block, ELEMENT.PROD)
width = k((1,), [D], np.int64)


def blocks(tensor, fill):
    sizes = network.add_concatenation([padded, width])
    sizes.axis = 0
    pad = network.add_slice(tensor, trt.Dims([0, 0]), trt.Dims([0, 0]), trt.Dims([1, 1]))
    pad.mode = trt.SampleMode.FILL
    pad.set_input(2, sizes.get_output(0))
    pad.set_input(4, k((), [fill]))
    apart = network.add_shuffle(pad.get_output(0))
    apart.reshape_dims = (-1, BLOCK, D)
    return apart.get_output(0)


count = network.add_shuffle(up)
count.reshape_dims = ()
n = network.add_cast(count.get_output(0), trt.int32).get_output(0)
like = ew(network.add_slice(q, (0, 0), (2, 1), (1, 1)).get_output(0), k((1, 1), [0]), ELEMENT.PROD)
wide = ew(q, k((1, 1), [0]), ELEMENT.PROD)
loop = network.add_loop()
loop.add_trip_limit(n, trt.TripLimit.COUNT)
kb, vb = loop.add_iterator(blocks(key, 0.0), 0), loop.add_iterator(blocks(value, 0.0), 0)
index = loop.add_recurrence(k((1,), [0], np.int64))
most = loop.add_recurrence(ew(like, k((1, 1), [-1e30]), ELEMENT.SUM))
total = loop.add_recurrence(like)
sums = loop.add_recurrence(wide)
scores = network.add_matrix_multiply(q, NONE, kb.get_output(0), TRANSPOSE).get_output(0)
line = network.add_fill((BLOCK,), trt.FillOperation.LINSPACE, trt.int64)
line.alpha, line.beta = 0, 1
place = ew(line.get_output(0), ew(index.get_output(0), block, ELEMENT.PROD), ELEMENT.SUM)
inside = network.add_shuffle(ew(place, rows, ELEMENT.LESS))
inside.reshape_dims = (1, BLOCK)
scores = network.add_select(inside.get_output(0), scores, k((1, 1), [-1e30])).get_output(0)
top = ew(most.get_output(0), network.add_reduce(scores, trt.ReduceOperation.MAX, 2, True).get_output(0), ELEMENT.MAX)
old = network.add_unary(ew(most.get_output(0), top, ELEMENT.SUB), trt.UnaryOperation.EXP).get_output(0)
p = network.add_unary(ew(scores, top, ELEMENT.SUB), trt.UnaryOperation.EXP).get_output(0)
part = network.add_reduce(p, trt.ReduceOperation.SUM, 2, True).get_output(0)
new_total = ew(ew(total.get_output(0), old, ELEMENT.PROD), part, ELEMENT.SUM)
weighted = network.add_matrix_multiply(p, NONE, vb.get_output(0), NONE).get_output(0)
new_sums = ew(ew(sums.get_output(0), old, ELEMENT.PROD), weighted, ELEMENT.SUM)
for recurrence, tensor in ((most, top), (total, new_total), (sums, new_sums)):
    recurrence.set_input(1, tensor)
index.set_input(1, ew(index.get_output(0), one, ELEMENT.SUM))
a = loop.add_loop_output(sums.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
b = loop.add_loop_output(total.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
out(ew(a, b, ELEMENT.DIV), "y")
""")

CHARACTERS = in_full("""
T, H, V, LAYERS = 6, 4, 5, 2
rng = np.random.default_rng(2)
VECTOR, TRANSPOSE = trt.MatrixOperation.VECTOR, trt.MatrixOperation.TRANSPOSE
data = network.add_input("data", trt.float32, (T, H))
seq_len = network.add_input("seq_len", trt.int32, ())
profile.set_shape_input("seq_len", [1], [4], [T])
config.add_optimization_profile(profile)
states = k((LAYERS, H), rng.standard_normal((LAYERS, H)))
most = k((), [T], np.int32)
tensor, finals = data, []
for layer in range(LAYERS):
    W = k((H, H), rng.standard_normal((H, H)))
    R = k((H, H), rng.standard_normal((H, H)))
    h0 = network.add_gather(states, k((), [layer], np.int32), 0).get_output(0)
    loop = network.add_loop()
    loop.name = f"layer {layer}"
    loop.add_trip_limit(seq_len, trt.TripLimit.COUNT)
    it = loop.add_iterator(tensor, 0, False)
    h = loop.add_recurrence(h0)
    a = network.add_matrix_multiply(it.get_output(0), VECTOR, W, TRANSPOSE).get_output(0)
    b = network.add_matrix_multiply(h.get_output(0), VECTOR, R, TRANSPOSE).get_output(0)
    y = network.add_activation(ew(a, b, trt.ElementWiseOperation.SUM), trt.ActivationType.TANH).get_output(0)
    h.set_input(1, y)
    o = loop.add_loop_output(y, trt.LoopOutput.CONCATENATE, 0)
    o.set_input(1, most)
    tensor = o.get_output(0)
    final = network.add_shuffle(loop.add_loop_output(h.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0))
    final.reshape_dims = trt.Dims2(1, H)
    finals.append(final.get_output(0))
joined = network.add_concatenation(finals)
joined.axis = 0
out(joined.get_output(0), "states")
P = k((V, H), rng.standard_normal((V, H)))
logits = network.add_matrix_multiply(tensor, trt.MatrixOperation.NONE, P, TRANSPOSE).get_output(0)
best = network.add_topk(logits, trt.TopKOperation.MAX, 1, 2)
out(best.get_output(1), "characters")
best.get_output(1).dtype = trt.int32
""")

BOTH_DIRECTIONS = in_full("""
x = network.add_input("x", trt.float32, (3, 2))
n = k((), [3], np.int32)


def run(reverse):
    loop = network.add_loop()
    loop.add_trip_limit(n, trt.TripLimit.COUNT)
    it = loop.add_iterator(x, axis=0, reverse=reverse)
    r = loop.add_recurrence(k((2,), [10, 20]))
    y = ew(r.get_output(0), it.get_output(0), trt.ElementWiseOperation.SUM)
    r.set_input(1, y)
    found = []
    for tensor in (r.get_output(0), y):
        kind = trt.LoopOutput.REVERSE if reverse else trt.LoopOutput.CONCATENATE
        o = loop.add_loop_output(tensor, kind, 0)
        o.set_input(1, n)
        found.append(o.get_output(0))
    return found


before, forward = run(False)
_, backward = run(True)
out(before, "before")
joined = network.add_concatenation([forward, backward])
joined.axis = 1
out(joined.get_output(0), "both")
for layer in network:
    if layer.type == trt.LayerType.LOOP_OUTPUT:
        layer.__class__ = trt.ILoopOutputLayer
        print(layer.loop.name, layer.kind, layer.axis)
    elif layer.type == trt.LayerType.ITERATOR:
        layer.__class__ = trt.IIteratorLayer
        print(layer.loop.name, layer.axis, layer.reverse)
    for name in dir(layer):
        try:
            getattr(layer, name)
        except ValueError:
            pass
""")
