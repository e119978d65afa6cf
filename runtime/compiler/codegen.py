"""LLVM code generation for a scalar program: one function with the semantics of the interpreter.

The function has the interpreter's contract (scalar_interpreter.h), so that either can resume where the other stopped:
it is entered at the head of the outermost loop or, after a time slice, before a boundary, and exits where the
interpreter would, with every register written back. In between, values are in LLVM registers. The code is
position-independent of its program: identical programs share it.
"""

from __future__ import annotations

from typing import Any

from .c_expressions import TYPES, TypedValue, bit_width, declarations
from .prologue_epilogue import CELL_BYTES
from .registers import (
    ExtremeSearch,
    FoldOrder,
    NotCompilable,
    ProgramDescription,
    ProgramLayout,
    ScalarOperation,
    integer_type,
)
from .straight_line import StraightLineCode
from .vector_width import function_attributes

#: Runtime helper functions: (name, result type, argument types).
HELPERS = (
    ("loopdbg_flush", "void", "ptr, ptr"),
    ("loopdbg_begin", "void", "ptr, i64, i64"),
    ("loopdbg_full", "i32", "ptr"),
    ("loopdbg_record", "void", "ptr, ptr, i64"),
    ("loopdbg_node", "i32", "ptr"),
    ("loopdbg_note", "void", "ptr, i32, ptr, ptr, i64"),
)


class CodeGenerator(StraightLineCode):
    """Generates the function of one program."""

    def emit_module(self) -> str:
        """Return the text of the module."""
        w = self.writer
        w.begin_block("entry")
        self.enter()
        k, targets = 0, self.targets()
        while k < len(self.program.code):
            w.begin_block(f"at{k}")
            last = self.run_end(k, targets)
            if last > k:
                self.emit_run(k, last)
            else:
                self.instruction(k, *self.program.code[k])
            k = max(last, k + 1)
        for k in range(len(self.program.loops)):
            self.head(k)
        self.leave()
        body = "\n".join(w.lines)
        helpers = [f"declare {result} @{name}({arguments})" for name, result, arguments in HELPERS]
        weights = ['!0 = !{!"branch_weights", i32 4000, i32 1}', '!1 = !{!"branch_weights", i32 1, i32 4000}']
        function = f"define i32 @run(ptr %p, ptr %watch, ptr %budget) {function_attributes(self)} {{\n{body}\n}}"
        return "\n".join([*declarations(w), *helpers, function, *weights, ""])

    # -- instructions

    def targets(self) -> set[int]:
        """Jump targets: the leaders of basic blocks."""
        jumps = (self.control["BRANCH"], self.control["JUMP"])
        ports = {loop[name] for loop in self.program.loops for name in ("body", "after", "test")}
        return ports.union(d for op, d, *_ in self.program.code if op in jumps)

    def instruction(self, k: int, op: int, d: int, a: int, b: int, c: int) -> None:
        layout, control, w = self.layout, self.control, self.writer
        if op in layout.operations:
            self.divide(k, layout.operations[op], d, a, b)
        elif op in layout.choices:
            self.select(layout.choices[op], d, a, b, c)
        elif op == control["CALL"]:
            self.call(a)
        elif op == control["LOAD"]:
            self.gather(k, d, a)
        elif op == control["BRANCH"]:
            w.branch_if(w.is_true(self.read_as(a, "uint8_t")), f"at{k + 1}", f"at{d}")
            return
        elif op == control["JUMP"]:
            w.branch(f"at{d}")
            return
        elif op == control["COUNT"]:
            loop = self.loop_of(k)
            number = "0" if a < 0 else w.assign(f"add i64 {self.load(f'i{loop}')}, {a}")
            self.write_value(d, w.cast(TypedValue(number, "int64_t"), "int64_t" if b else "int32_t"))
        elif op == control["STOP_IF"]:
            self.exit_if(w.is_true(self.read_as(a, "uint8_t")), "AT_INSN", self.loop_of(k), k)
        elif op == control["EACH"]:
            self.each(k, *self.program.elementwise_operations[a])
        elif op == control["NODE"]:
            self.node(k, a)
        elif op == control["BLOCK"]:
            self.move(a, d)
        elif op == control["ENTER"]:
            self.enter_inner(k, a)
            return
        elif op == control["NEXT"]:
            self.cross(k, a)
            return
        elif op == control["TEST"]:
            self.test(k, self.loop_of(k), a)
            return
        else:
            raise NotCompilable(f"opcode {op}")
        w.branch(f"at{k + 1}")

    def loop_of(self, k: int) -> int:
        """The innermost loop that contains an instruction."""
        innermost = 0
        for number, loop in enumerate(self.program.loops):
            first = loop["body"] if loop["test"] < 0 else min(loop["body"], loop["test"])
            last = self.next_instructions[number] if number else len(self.program.code)
            if first <= k <= last and number >= innermost:
                innermost = number
        return innermost

    def divide(self, k: int, operation: ScalarOperation, d: int, a: int, b: int) -> None:
        """Emit an operation that may fail (division by zero), and so is excluded from straight-line runs."""
        if operation.divides:
            divisor = self.read_as(b, operation.argument)
            zero = self.writer.assign(f"icmp eq {divisor.llvm} {divisor.text}, 0")
            self.exit_if(zero, "AT_INSN", self.loop_of(k), k)
        self.operate(operation, d, a, b)

    def call(self, number: int) -> None:
        """Call an elementwise kernel on one element, through memory."""
        w, registers = self.writer, self.program.calls[number]
        for j, k in enumerate(registers):
            cell = self.address("%cells", CELL_BYTES * j)
            element = self.as_type(self.read(k), self.types[k], "i64")
            vector = w.assign(f"insertelement <8 x i64> zeroinitializer, i64 {element}, i32 0")
            w.emit(f"store <8 x i64> {vector}, ptr {cell}, align {CELL_BYTES}")
            w.emit(f"store ptr {cell}, ptr {self.address('%args', 8 * j)}")
        w.emit(f"call void %loop{number}(ptr %args, ptr %one, ptr %steps{number}, ptr %data{number})")
        d = registers[-1]
        self.write(
            d, w.assign(f"load {self.types[d]}, ptr {self.address('%cells', CELL_BYTES * (len(registers) - 1))}")
        )
        self.store("fuel", w.assign(f"sub i64 {self.load('fuel')}, 8"))

    def each(self, k: int, op: int, arguments: list[tuple[int, list[int]]]) -> None:
        """Emit an operation on several elements."""
        operation = self.layout.operations.get(op)
        if operation is not None and operation.divides:
            self.exit_if(self.has_zero(operation, *arguments[1]), "AT_INSN", self.loop_of(k), k)
        self.apply_elementwise(op, arguments)

    def node(self, k: int, number: int) -> None:
        """Emit a node: inline for a search, or a small NaN-free product or fold of known order; else by its kernels."""
        w = self.writer
        registers, results, cost, order = self.program.nodes[number]
        self.store("fuel", w.assign(f"sub i64 {self.load('fuel')}, {cost}"))
        if isinstance(order, ExtremeSearch):
            self.scatter_lanes(order.result[0], "i64", order.result[1], self.search(order))
            return
        if order is None:
            self.run_kernels(k, number, registers, results)
            return
        total, is_nan = self.fold_lanes(order) if isinstance(order, FoldOrder) else self.product_lanes(order)
        element = TYPES[self.layout.operations[order.op].result][0] if isinstance(order, FoldOrder) else "float"
        kernels, numeric, done = w.fresh_name("kernels"), w.fresh_name("good"), w.fresh_name("done")
        w.branch_if(is_nan, kernels, numeric, likely=False)
        w.begin_block(kernels)
        self.run_kernels(k, number, registers, results)
        w.branch(done)
        w.begin_block(numeric)
        self.scatter_lanes(order.result[0], element, order.result[1], total)
        w.branch(done)
        w.begin_block(done)

    def run_kernels(self, k: int, number: int, registers: list[int], results: list[int]) -> None:
        """Call a node's kernels on registers, through memory."""
        w = self.writer
        for register in registers:
            self.spill(register, padded=True)
        address = self.address("%nodes", number * self.layout.offsets["node"])
        failed = w.compare_integers("eq", "i32", w.assign(f"call i32 @loopdbg_node(ptr {address})"), 0)
        self.exit_if(failed, "AT_INSN", self.loop_of(k), k)
        for register in results:
            t = self.types[register]
            self.write(
                register, w.assign(f"load {t}, ptr {self.address('%R', self.register_offsets[register])}, align 1")
            )

    def gather(self, k: int, d: int, number: int) -> None:
        w = self.writer
        nbytes, length, index, is_int64 = self.program.loads[number]
        i = w.cast(self.read_as(index, "int64_t" if is_int64 else "int32_t"), "int64_t").text
        wrapped = w.add(i, length)
        i = w.assign(f"select i1 {w.compare_integers('slt', 'i64', i, 0)}, i64 {wrapped}, i64 {i}")
        self.exit_if(w.compare_integers("uge", "i64", i, length), "AT_INSN", self.loop_of(k), k)
        address = self.address(f"%from{number}", w.multiply(i, nbytes))
        self.load_bytes(d, address, nbytes)

    def load_bytes(self, d: int, address: str, nbytes: int) -> None:
        """Load bytes from memory into a register."""
        t = self.memory_type(d, nbytes)
        self.write(d, self.as_type(self.writer.assign(f"load {t}, ptr {address}, align 1"), t, self.types[d]))

    def memory_type(self, k: int, nbytes: int) -> str:
        """The type of the first ``nbytes`` bytes of a register in memory."""
        return self.types[k] if bit_width(self.types[k]) == 8 * nbytes else integer_type(nbytes)

    # -- loops

    def enter_inner(self, k: int, number: int) -> None:
        """Enter an inner loop."""
        w, loop = self.writer, self.program.loops[number]
        if loop["recorders"]:
            self.exit_if(
                w.assign(f"icmp ne i32 {w.assign(f'call i32 @loopdbg_full(ptr %L{number})')}, 0"),
                "AT_INSN",
                loop["parent"],
                k,
            )
        self.store(f"trips{number}", self.trips(k, loop))
        keep = "true" if loop["initial"] < 0 else w.is_true(self.read_as(loop["initial"], "uint8_t"))
        self.store(f"keep{number}", w.assign(f"zext i1 {keep} to i32"), "i32")
        if loop["cond_in"] >= 0:
            self.write_value(loop["cond_in"], TypedValue(w.assign(f"zext i1 {keep} to i8"), "uint8_t"))
        for source, to in loop["init"]:
            self.move(source, to)
        self.store(f"i{number}", 0)
        self.store(f"stop_before{number}", self.limit(number))
        entry = self.fetch_add(f"%entries{number}", 1)
        if loop["history"]:
            w.emit(f"call void @loopdbg_begin(ptr %history{number}, i64 {entry}, i64 0)")
            self.note(number, [(param, series, count) for _, param, series, count in loop["notes"] if param >= 0])
        self.emit_iteration_start(number, "0")

    def trips(self, k: int, loop: dict[str, Any]) -> str:
        """The trip count of a loop entry; exits if it is invalid (``loop_trips`` in termination.h)."""
        w = self.writer
        if loop["trip"] < 0:
            return str(loop["fixed_trips"])
        trips = w.cast(self.read_as(loop["trip"], "int64_t" if loop["trip_wide"] else "int32_t"), "int64_t").text
        below = w.compare_integers("slt", "i64", trips, 0)
        if loop["negative"] == self.layout.numbers["NO_ITERATION"]:
            return w.assign(f"select i1 {below}, i64 0, i64 {trips}")
        if loop["negative"] == self.layout.numbers["NO_LIMIT"]:
            below = w.compare_integers("slt", "i64", trips, -1)
        self.exit_if(below, "AT_INSN", loop["parent"], k)
        return trips

    def limit(self, number: int) -> str:
        """``loop_limit`` in termination.h."""
        w = self.writer
        stop = self.field(f"%L{number}", "loop.stop", "i64")
        endless_at = self.field(f"%L{number}", "loop.endless_at", "i64")
        trips = self.load(f"trips{number}")
        earlier = w.and_(
            w.compare_integers("sge", "i64", endless_at, 0), w.compare_integers("slt", "i64", endless_at, stop)
        )
        unlimited = w.or_(w.compare_integers("slt", "i64", trips, 0), w.compare_integers("eq", "i64", trips, 2**63 - 1))
        return w.assign(f"select i1 {w.and_(earlier, unlimited)}, i64 {endless_at}, i64 {stop}")

    def emit_iteration_start(self, number: int, i: str, root: bool = False) -> None:
        """Go from a boundary to the next iteration, through the test of the loop where it has one."""
        w, loop = self.writer, self.program.loops[number]
        if loop["test"] >= 0:
            trips, untested = self.load(f"trips{number}"), w.fresh_name("untested")
            tested = w.or_(w.compare_integers("slt", "i64", trips, 0), w.compare_integers("slt", "i64", i, trips))
            w.branch_if(tested, f"at{loop['test']}", untested)
            w.begin_block(untested)
        self.record(number, i)
        w.branch("run0" if root else f"head{number}")

    def is_full(self, number: int) -> str:
        """Is a recorder's buffer full?"""
        return self.writer.compare_integers(
            "ne", "i32", self.writer.assign(f"call i32 @loopdbg_full(ptr %L{number})"), 0
        )

    def record(self, number: int, i: str) -> None:
        loop = self.program.loops[number]
        if loop["recorders"]:
            for k in loop["recorded"]:
                self.spill(k)
            self.writer.emit(f"call void @loopdbg_record(ptr %R, ptr %L{number}, i64 {i})")

    def note(self, number: int, cells: list[tuple[int, int, int]]) -> None:
        """Append a row to a history; cells are (register, series, element count)."""
        w, offsets = self.writer, self.layout.offsets
        rows, full, free = self.layout.numbers["ROWS"], w.fresh_name("full"), w.fresh_name("free")
        entry = self.field(f"%history{number}", "history.now", "ptr")
        count = self.field(entry, "entry.n", "i32")
        w.branch_if(w.compare_integers("eq", "i32", count, rows), full, free, likely=False)
        w.begin_block(full)
        w.emit(f"call void @loopdbg_flush(ptr %history{number}, ptr {entry})")
        w.branch(free)
        w.begin_block(free)
        count = self.field(entry, "entry.n", "i32")
        count = w.assign(f"sext i32 {count} to i64")
        new_count = w.assign(f"trunc i64 {w.add(count, 1)} to i32")
        w.emit(f"store i32 {new_count}, ptr {self.address(entry, offsets['entry.n'])}")
        row = self.address(self.field(entry, "entry.ring", "ptr"), w.multiply(count, 8))
        for k, series, elements in cells:
            if elements == 1:
                address = self.address(row, 8 * series * self.layout.numbers["COLUMNS"] * rows)
                w.emit(f"store i64 {self.as_type(self.read(k), self.types[k], 'i64')}, ptr {address}")
            else:
                self.spill(k)
                values = self.address("%R", self.register_offsets[k])
                arguments = f"ptr %history{number}, i32 {series}, ptr {row}, ptr {values}, i64 {elements}"
                w.emit(f"call void @loopdbg_note({arguments})")

    def cross(self, k: int, number: int) -> None:
        """Cross the boundary after an iteration."""
        w, loop, root = self.writer, self.program.loops[number], number == 0
        if loop["cond"] >= 0:
            keep = w.assign(f"zext i1 {w.is_true(self.read_as(loop['cond'], 'uint8_t'))} to i32")
        else:
            keep = self.load(f"keep{number}", "i32")
        i = w.assign(f"add i64 {self.load(f'i{number}')}, 1")
        fuel = w.assign(f"sub i64 {self.load('fuel')}, {4 + k - loop['body']}")
        self.store("fuel", fuel)
        self.exit_if(w.compare_integers("slt", "i64", fuel, 0), "TICK", number, k)
        stop = w.compare_integers("sge", "i64", i, self.root_bound if root else self.load(f"stop_before{number}"))
        watched = w.compare_integers("ne", "i32", w.assign("load volatile i32, ptr %watch"), 0)
        self.exit_if(w.or_(stop, watched), "AT_NEXT", number)
        if root:
            self.root_ends(loop, keep)
        if loop["recorders"]:
            self.exit_if(self.is_full(number), "AT_NEXT", number)
        for j, (source, nbytes) in enumerate(loop["scans"]):
            self.append(j, source, nbytes)
        self.store(f"keep{number}", keep, "i32")
        if loop["history"]:
            self.note(number, [(result, series, count) for result, _, series, count in loop["notes"]])
        self.carry(loop)
        self.store(f"i{number}", i)
        self.emit_iteration_start(number, i, root)

    def root_ends(self, loop: dict[str, Any], keep: str) -> None:
        """Exit to the engine where the outermost loop ends or a scan output is full."""
        w = self.writer
        self.exit_if(w.compare_integers("eq", "i32", keep, 0), "AT_NEXT", 0)
        for j in range(len(loop["scans"])):
            self.exit_if(w.assign(f"icmp eq i64 {self.load(f'count{j}')}, %capacity{j}"), "AT_NEXT", 0)

    def append(self, j: int, source: int, nbytes: int) -> None:
        """Append an element to a scan output."""
        w, t = self.writer, self.memory_type(source, nbytes)
        count = self.load(f"count{j}")
        address = self.address(f"%buffer{j}", w.multiply(count, nbytes))
        w.emit(f"store {t} {self.as_type(self.read(source), self.types[source], t)}, ptr {address}, align 1")
        self.store(f"count{j}", w.add(count, 1))

    def carry(self, loop: dict[str, Any]) -> None:
        """Copy the carried values along the back edges; a parallel copy where staged."""
        if not loop["staged"]:
            for source, to in loop["moves"]:
                self.move(source, to)
            return
        values = [
            (self.as_type(self.read(source), self.types[source], self.types[to]), to) for source, to in loop["moves"]
        ]
        for text, to in values:
            self.write(to, text)

    def test(self, k: int, number: int, condition: int) -> None:
        w, loop = self.writer, self.program.loops[number]
        self.store("fuel", w.assign(f"sub i64 {self.load('fuel')}, {k - loop['test']}"))
        keep = w.is_true(self.read_as(condition, "uint8_t"))
        self.store(f"keep{number}", w.assign(f"zext i1 {keep} to i32"), "i32")
        if not number:
            self.exit_if(w.assign(f"xor i1 {keep}, true"), "AT_TEST", 0)
        if loop["recorders"]:
            self.record(number, self.load(f"i{number}"))
        w.branch(f"head{number}" if number else "run0")

    def head(self, number: int) -> None:
        """Emit the head of a loop: tests before an iteration."""
        w, loop = self.writer, self.program.loops[number]
        w.begin_block(f"head{number}")
        i = self.load(f"i{number}")
        self.count(number, loop)
        trips, keep = self.load(f"trips{number}"), self.load(f"keep{number}", "i32")
        refused = w.compare_integers("eq", "i32", keep, 0)
        exhausted = w.and_(w.compare_integers("sge", "i64", trips, 0), w.compare_integers("sge", "i64", i, trips))
        ends = w.or_(refused, exhausted)
        if number:
            self.end_inner(number, loop, ends, refused, i)
        else:
            self.exit_if(ends, "AT_HEAD", 0)
            if loop["counted"] or loop["slices"]:
                self.exit_if(w.compare_integers("sge", "i64", i, "%parts0"), "AT_HEAD", 0)
        self.exit_if(w.assign(f"icmp sge i64 {i}, {self.load(f'stop_before{number}')}"), "AT_HEAD", number)
        w.branch(f"run{number}")
        w.begin_block(f"run{number}")
        if not number:
            self.count(number, loop)
            self.slice(loop)
        w.branch(f"at{loop['body']}")

    def count(self, number: int, loop: dict[str, Any]) -> None:
        """Store the iteration number that the body reads."""
        if loop["iteration"] >= 0:
            i = TypedValue(self.load(f"i{number}"), "int64_t")
            self.write_value(loop["iteration"], self.writer.cast(i, "int64_t" if loop["iteration_wide"] else "int32_t"))

    def slice(self, loop: dict[str, Any]) -> None:
        """Load the iteration's slices of scan inputs."""
        for j, (to, nbytes) in enumerate(loop["slices"]):
            offset = self.writer.assign(f"mul i64 {self.load('i0')}, %step{j}")
            self.load_bytes(to, self.address(f"%base{j}", offset), nbytes)

    def end_inner(self, number: int, loop: dict[str, Any], ends: str, refused: str, i: str) -> None:
        """End an inner loop: copy its outputs out and continue after it."""
        w, numbers = self.writer, self.layout.numbers
        ended, continued = w.fresh_name("over"), w.fresh_name("on")
        w.branch_if(ends, ended, continued)
        w.begin_block(ended)
        self.fetch_add(f"%iterations{number}", i)
        reason = w.assign(f"select i1 {refused}, i32 {numbers['BY_CONDITION']}, i32 {numbers['BY_TRIP_COUNT']}")
        self.fetch_add(self.address(f"%by_reason{number}", w.multiply(w.assign(f"zext i32 {reason} to i64"), 8)), 1)
        self.store(f"ended{number}", reason, "i32")
        for source, to in loop["outs"]:
            self.move(source, to)
        w.branch(f"at{loop['after']}")
        w.begin_block(continued)


def lower(program: ProgramDescription, layout: ProgramLayout) -> str:
    """Lower a program to the text of an LLVM module; its function is ``run``.

    Raises:
        NotCompilable: the program needs the interpreter.
    """
    return CodeGenerator(program, layout).emit_module()
