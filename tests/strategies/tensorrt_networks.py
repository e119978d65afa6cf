"""Random TensorRT networks with loops, from a source of choices. All numbers are small integers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loopdbg.runtime.frontends.tensorrt.control_flow import ILoop
from loopdbg.runtime.frontends.tensorrt.enums import LoopOutput, TripLimit
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from tensorrt_networks import NetworkBuilder, Op, output_of

from .draws import ChoiceSource

_SHAPES = ((), (2,), (3,), (2, 3), (1, 2))
_OPS = (Op.SUM, Op.SUB, Op.MAX, Op.MIN)
_STACKS = (LoopOutput.CONCATENATE, LoopOutput.REVERSE)


@dataclass
class TensorPool:
    """Readable tensors, and the loops that contain each of them."""

    enclosing_loops: dict[ITensor, frozenset[ILoop]] = field(default_factory=dict)
    #: Outputs of inner loops. An unread one could fail here, but not in a lazy evaluation.
    needed: list[ITensor] = field(default_factory=list)

    def tensors_of(self, dtype: str, shape: tuple[int, ...] | None = None) -> list[ITensor]:
        return [t for t in self.enclosing_loops if str(t.type.dtype) == dtype and shape in (None, tuple(t.shape))]


class NetworkGenerator:
    """Builds one network."""

    def __init__(self, draw: ChoiceSource, hot: bool = False) -> None:
        self.draw, self.hot = draw, hot
        self.net = NetworkBuilder()
        self.inputs: dict[str, tuple[str, tuple[int, ...]]] = {}
        self.loops = 0
        self.all_tensors: dict[ITensor, frozenset[ILoop]] = {}
        #: The loops whose bodies are being built.
        self.loop_stack: list[ILoop] = []

    def network(self) -> NetworkBuilder:
        pool = TensorPool()
        for k in range(self.draw.integer(1, 3)):
            shape = self.draw.pick(_SHAPES[:1] if self.hot else _SHAPES)
            pool.enclosing_loops[self.input(f"x{k}", "float32", shape)] = frozenset()
        pool.enclosing_loops[self.input("n", "int32", ())] = frozenset()
        for _ in range(self.draw.integer(1, 2)):
            self.loop(pool, 0)
            self.operation(pool)
        names = 0
        for tensor in list(pool.enclosing_loops):
            if tensor._layer is not None and not pool.enclosing_loops[tensor] and tensor.type.dtype != np.bool_:
                names += 1
                self.net.mark(tensor, f"out{names}")
        return self.net

    def input(self, name: str, dtype: str, shape: tuple[int, ...]) -> ITensor:
        self.inputs[name] = dtype, shape
        return self.net.input_tensor(name, dtype, shape)

    def feeds(self, draw: ChoiceSource) -> dict[str, Any]:
        """Inputs; ``n`` is the number of iterations."""
        results: dict[str, Any] = {}
        for name, (dtype, shape) in self.inputs.items():
            count = int(np.prod(shape))
            low, high = (0, 7) if name == "n" else (-4, 9)
            results[name] = np.array([draw.integer(low, high) for _ in range(count)], dtype).reshape(shape)
        return results

    # -- the contents of bodies

    def pick(self, pool: TensorPool, dtype: str, shape: tuple[int, ...]) -> ITensor:
        """A tensor of a type: an existing one, or a constant."""
        result = pool.tensors_of(dtype, shape)
        if result and self.draw.chance(80):
            return self.draw.pick(result[::-1])
        numbers = [self.draw.integer(0, 4) for _ in range(int(np.prod(shape)))]
        outcome = self.net.const(np.array(numbers).reshape(shape), dtype)
        pool.enclosing_loops[outcome] = frozenset()
        return outcome

    def operation(self, pool: TensorPool) -> ITensor | None:
        result = pool.tensors_of("float32") + pool.tensors_of("int32")
        if not result:
            return None
        a = self.draw.pick(result[::-1])
        b = self.pick(pool, str(a.type.dtype), tuple(a.shape))
        outcome = self.net.elementwise(a, b, self.draw.pick(_OPS))
        pool.enclosing_loops[outcome] = pool.enclosing_loops[a] | pool.enclosing_loops[b]
        return outcome

    def test(self, pool: TensorPool, scalar: ITensor) -> ITensor:
        """A comparison of a scalar."""
        other = self.pick(
            TensorPool({t: s for t, s in pool.enclosing_loops.items() if not s}), str(scalar.type.dtype), ()
        )
        result = self.net.elementwise(scalar, other, self.draw.pick((Op.LESS, Op.GREATER, Op.EQUAL)))
        pool.enclosing_loops[result] = pool.enclosing_loops[scalar] | pool.enclosing_loops.get(other, frozenset())
        return result

    def conditional(self, pool: TensorPool) -> None:
        scalars = pool.tensors_of("float32", ()) + pool.tensors_of("int32", ())
        if not scalars:
            return
        test = self.test(pool, self.draw.pick(scalars[::-1]))
        outcome = self.net.add_if_conditional()
        outcome.set_condition(test)
        result = pool.tensors_of("float32") + pool.tensors_of("int32")
        a = self.draw.pick(result[::-1])
        b = self.pick(pool, str(a.type.dtype), tuple(a.shape))
        inside = pool.enclosing_loops[test] | pool.enclosing_loops[a] | pool.enclosing_loops[b]
        item, other = self.branch(outcome, a), self.branch(outcome, b)
        pool.enclosing_loops[output_of(outcome.add_output(item, other))] = inside

    def branch(self, conditional: Any, tensor: ITensor) -> ITensor:
        if self.draw.chance(50):
            tensor = output_of(conditional.add_input(tensor))
        for _ in range(self.draw.integer(0, 2)):
            tensor = self.net.elementwise(tensor, tensor, self.draw.pick((Op.SUM, Op.SUB, Op.MAX)))
        return tensor

    # -- loops

    def loop(self, pool: TensorPool, depth: int) -> None:
        draw, net = self.draw, self.net
        loop = net.add_loop()
        loop.name = f"loop{self.loops}"
        self.loops += 1
        self.loop_stack.append(loop)
        outside = dict(pool.enclosing_loops)
        mine = TensorPool(dict(pool.enclosing_loops))
        limits = draw.pick(("count", "while", "both"))
        trips = draw.integer(0, 6)
        if limits != "while":
            counts = pool.tensors_of("int32", ())
            count = draw.pick(counts) if counts and draw.chance(40) else net.int32_const(trips)
            loop.add_trip_limit(count, TripLimit.COUNT)
        step = draw.integer(1, 2)
        recurrences = []
        counter = loop.add_recurrence(net.int32_const(draw.integer(0, 1)))
        mine.enclosing_loops[output_of(counter)] = frozenset({loop})
        for _ in range(draw.integer(0, 3)):
            shape = () if self.hot else draw.pick(_SHAPES)
            recurrences.append(loop.add_recurrence(self.pick(pool, draw.pick(("float32", "int32")), shape)))
            mine.enclosing_loops[output_of(recurrences[-1])] = frozenset({loop})
        for _ in range(0 if self.hot and depth else draw.integer(0, 2)):
            tensors = [t for t in pool.tensors_of("float32") if len(t.shape) and t in outside]
            if tensors and draw.chance(70):
                tensor = draw.pick(tensors)
                axis = draw.integer(0, len(tensor.shape) - 1)
                iterator = loop.add_iterator(tensor, axis, draw.chance(50))
                mine.enclosing_loops[output_of(iterator)] = frozenset({loop}) | pool.enclosing_loops[tensor]
        advanced = net.elementwise(output_of(counter), net.int32_const(step))
        mine.enclosing_loops[advanced] = frozenset({loop})
        counter.set_input(1, advanced)
        if limits != "count":
            self.limit(loop, mine, output_of(counter), advanced, trips, recurrences)
        for _ in range(draw.integer(1, 4)):
            what = draw.integer(0, 9)
            if what == 9 and depth < 2 and self.loops < 4:
                before, number = set(mine.enclosing_loops), len(net.loops)
                self.loop(mine, depth + 1)
                mine.needed += [
                    t for t in mine.enclosing_loops if t not in before and t._layer in net.loops[number].outputs
                ]
            elif what == 8:
                self.conditional(mine)
            else:
                self.operation(mine)
        for recurrence in recurrences:
            first = output_of(recurrence)
            recurrence.set_input(1, self.pick(mine, str(first.type.dtype), tuple(first.shape)))
        self.outputs(loop, pool, mine, [counter, *recurrences])
        self.all_tensors.update(mine.enclosing_loops)
        self.loop_stack.pop()

    def limit(
        self, loop: ILoop, mine: TensorPool, counter: ITensor, advanced: ITensor, trips: int, recurrences: list[Any]
    ) -> None:
        draw, net = self.draw, self.net
        test = net.elementwise(draw.pick((counter, advanced)), net.int32_const(trips), Op.LESS)
        mine.enclosing_loops[test] = frozenset({loop})
        floats = [
            output_of(r) for r in recurrences if not len(output_of(r).shape) and output_of(r).type.dtype == np.float32
        ]
        if floats and draw.chance(50):
            more = net.elementwise(floats[0], net.const(float(draw.integer(0, 9))), Op.LESS)
            mine.enclosing_loops[more] = frozenset({loop})
            test = net.elementwise(test, more, Op.AND)
            mine.enclosing_loops[test] = frozenset({loop})
        loop.add_trip_limit(test, TripLimit.WHILE)

    def outputs(self, loop: ILoop, pool: TensorPool, mine: TensorPool, recurrences: list[Any]) -> None:
        draw, net = self.draw, self.net
        results = [t for t, loops in mine.enclosing_loops.items() if loop in loops and t.type.dtype != np.bool_]
        outcomes = []
        for recurrence in recurrences:
            if draw.chance(60):
                outcomes.append(output_of(loop.add_loop_output(output_of(recurrence), LoopOutput.LAST_VALUE)))
        others = [t for t in mine.needed if loop not in mine.enclosing_loops[t]]
        pool.enclosing_loops.update((t, mine.enclosing_loops[t]) for t in others)
        pool.needed += others
        needed = [t for t in mine.needed if loop in mine.enclosing_loops[t]]
        for tensor in (*needed, *(draw.pick(results[::-1]) for _ in range(draw.integer(1, 3)))):
            layer = loop.add_loop_output(tensor, draw.pick(_STACKS), draw.integer(0, len(tensor.shape)))
            layer.set_input(1, net.int32_const(draw.pick((7, 8, 9, 7, 6))))
            outcomes.append(output_of(layer))
        # An output of a loop is in the scope of the loop: inside every loop that its operands depend on.
        used = [inside for inside in {**self.all_tensors, **mine.enclosing_loops}.values() if loop in inside]
        used += [
            mine.enclosing_loops.get(t, frozenset()) for layer in loop.layers for t in layer._inputs if t is not None
        ]
        depends = frozenset().union(*used) & frozenset(self.loop_stack[:-1])
        for tensor in outcomes:
            pool.enclosing_loops[tensor] = depends
