"""Greedy decoding: a small recurrent cell picks its next token until it picks the end token, or trips run out."""

import numpy as np
import tensorrt as trt

TOKENS, HIDDEN, END, MOST = 11, 16, 10, 24

SUM, PROD, SUB = trt.ElementWiseOperation.SUM, trt.ElementWiseOperation.PROD, trt.ElementWiseOperation.SUB


def build(network):
    first = network.add_input("first", trt.int32, (1,))
    state = network.add_input("state", trt.float32, (1, HIDDEN))
    random = np.random.PCG64(5)

    def weight(*shape):
        # Raw bits, not a distribution: NumPy guarantees their stability.
        raw = random.random_raw(int(np.prod(shape))) >> np.uint64(40)
        array = ((raw.astype(np.float32) / np.float32(2**23) - 1) * np.float32(1.2)).reshape(shape)
        return network.add_constant(shape, array).get_output(0)

    def apply(a, b, operation):
        return network.add_elementwise(a, b, operation).get_output(0)

    def product(a, b):
        return network.add_matrix_multiply(a, trt.MatrixOperation.NONE, b, trt.MatrixOperation.NONE).get_output(0)

    embedding, recurrent, gate, scores = (
        weight(TOKENS, HIDDEN),
        weight(HIDDEN, HIDDEN),
        weight(HIDDEN, HIDDEN),
        weight(HIDDEN, TOKENS),
    )
    max_length = network.add_constant((), np.array([MOST], np.int32)).get_output(0)
    end = network.add_constant((1,), np.array([END], np.int32)).get_output(0)

    loop = network.add_loop()
    loop.name = "decode"
    loop.add_trip_limit(max_length, trt.TripLimit.COUNT)
    token, h = loop.add_recurrence(first), loop.add_recurrence(state)
    token.get_output(0).name, h.get_output(0).name = "token", "h"

    # kWHILE requires a scalar.
    running = network.add_unary(apply(token.get_output(0), end, trt.ElementWiseOperation.EQUAL), trt.UnaryOperation.NOT)
    scalar = network.add_shuffle(running.get_output(0))
    scalar.reshape_dims = ()
    scalar.get_output(0).name = "go_on"
    loop.add_trip_limit(scalar.get_output(0), trt.TripLimit.WHILE)

    x = network.add_gather(embedding, token.get_output(0), 0).get_output(0)
    open_ = network.add_activation(product(h.get_output(0), gate), trt.ActivationType.SIGMOID).get_output(0)
    mixed = apply(x, product(h.get_output(0), recurrent), SUM)
    new = network.add_activation(mixed, trt.ActivationType.TANH).get_output(0)
    h_next = apply(h.get_output(0), apply(open_, apply(new, h.get_output(0), SUB), PROD), SUM)
    h_next.name = "h_next"
    best = network.add_topk(product(h_next, scores), trt.TopKOperation.MAX, 1, 1 << 1).get_output(1)
    flat = network.add_shuffle(best)
    flat.reshape_dims = (1,)
    flat.get_output(0).name = "token_next"
    h.set_input(1, h_next)
    token.set_input(1, flat.get_output(0))

    outputs = loop.add_loop_output(flat.get_output(0), trt.LoopOutput.CONCATENATE)
    outputs.set_input(1, max_length)
    outputs.get_output(0).name = "tokens"
    network.mark_output(outputs.get_output(0))
    last = loop.add_loop_output(h.get_output(0), trt.LoopOutput.LAST_VALUE)
    last.get_output(0).name = "h_last"
    network.mark_output(last.get_output(0))
