"""A character model: an embedding, two LSTM layers over the time steps of one loop, and a projection to the alphabet.

Weights are small and random, from one seed. The order of gates is i, c, f, o.
"""

import numpy as np
import tensorrt as trt

ALPHABET, EMBEDDED, HIDDEN, LAYERS, STEPS = 27, 12, 16, 2, 10

SUM, PROD = trt.ElementWiseOperation.SUM, trt.ElementWiseOperation.PROD
SIGMOID, TANH = trt.ActivationType.SIGMOID, trt.ActivationType.TANH


def weights():
    """All weights, by name."""
    random = np.random.PCG64(27)

    def draw(*shape):
        # Raw bits, not a distribution: NumPy guarantees their stability.
        raw = random.random_raw(int(np.prod(shape))) >> np.uint64(40)
        return ((raw.astype(np.float32) / np.float32(2**23) - 1) * np.float32(2.5)).reshape(shape)

    arrays = {"embedding": draw(ALPHABET, EMBEDDED), "project": draw(HIDDEN, ALPHABET), "offset": draw(1, ALPHABET)}
    for layer in range(LAYERS):
        size = HIDDEN if layer else EMBEDDED
        arrays |= {
            f"W{layer}": draw(size, 4 * HIDDEN),
            f"R{layer}": draw(HIDDEN, 4 * HIDDEN),
            f"B{layer}": draw(1, 4 * HIDDEN),
        }
    return arrays


def multiply(network, a, b):
    """A product of matrices."""
    return network.add_matrix_multiply(a, trt.MatrixOperation.NONE, b, trt.MatrixOperation.NONE).get_output(0)


def lstm(network, constants, x, h, c, layer):
    """One step of one layer: the new h and c."""
    gates = network.add_elementwise(
        multiply(network, x, constants[f"W{layer}"]), multiply(network, h, constants[f"R{layer}"]), SUM
    ).get_output(0)
    gates = network.add_elementwise(gates, constants[f"B{layer}"], SUM).get_output(0)

    def gate(index, kind, name):
        part = network.add_slice(gates, (0, index * HIDDEN), (1, HIDDEN), (1, 1)).get_output(0)
        activation = network.add_activation(part, kind).get_output(0)
        activation.name = f"{name}{layer}"
        return activation

    i, new, f, o = (
        gate(k, kind, name)
        for k, (kind, name) in enumerate(((SIGMOID, "i"), (TANH, "new"), (SIGMOID, "f"), (SIGMOID, "o")))
    )
    kept = network.add_elementwise(f, c, PROD).get_output(0)
    added = network.add_elementwise(i, new, PROD).get_output(0)
    c_next = network.add_elementwise(kept, added, SUM).get_output(0)
    squashed = network.add_activation(c_next, TANH).get_output(0)
    h_next = network.add_elementwise(o, squashed, PROD).get_output(0)
    h_next.name, c_next.name = f"h{layer}_next", f"c{layer}_next"
    return h_next, c_next


def build(network):
    text = network.add_input("text", trt.int32, (STEPS,))
    constants = {name: network.add_constant(w.shape, w).get_output(0) for name, w in weights().items()}
    embedded = network.add_gather(constants["embedding"], text, 0).get_output(0)
    embedded.name = "embedded"

    steps = network.add_constant((), np.array([STEPS], np.int32)).get_output(0)
    loop = network.add_loop()
    loop.name = "time"
    loop.add_trip_limit(steps, trt.TripLimit.COUNT)
    step = loop.add_iterator(embedded)
    step.get_output(0).name = "character"
    rows = network.add_shuffle(step.get_output(0))
    rows.reshape_dims = (1, EMBEDDED)
    x = rows.get_output(0)
    zeros = network.add_constant((1, HIDDEN), np.zeros((1, HIDDEN), np.float32)).get_output(0)
    for layer in range(LAYERS):
        h, c = loop.add_recurrence(zeros), loop.add_recurrence(zeros)
        h.get_output(0).name, c.get_output(0).name = f"h{layer}", f"c{layer}"
        x, c_next = lstm(network, constants, x, h.get_output(0), c.get_output(0), layer)
        h.set_input(1, x)
        c.set_input(1, c_next)
        last = loop.add_loop_output(h.get_output(0), trt.LoopOutput.LAST_VALUE)
        last.get_output(0).name = f"h{layer}_last"
        network.mark_output(last.get_output(0))
    scores = network.add_elementwise(multiply(network, x, constants["project"]), constants["offset"], SUM).get_output(0)
    best = network.add_topk(scores, trt.TopKOperation.MAX, 1, 1 << 1).get_output(1)
    best.name = "best"
    outputs = loop.add_loop_output(best, trt.LoopOutput.CONCATENATE)
    outputs.set_input(1, steps)
    flat = network.add_shuffle(outputs.get_output(0))
    flat.reshape_dims = (STEPS,)
    flat.get_output(0).name = "predicted"
    network.mark_output(flat.get_output(0))
