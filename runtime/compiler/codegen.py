"""LLVM code generation for a scalar program: one function with the semantics of the interpreter.

The function has the interpreter's contract (scalar_interpreter.h), so that either can resume where the other stopped:
it is entered at the head of the outermost loop or, after a time slice, before a boundary, and exits where the
interpreter would, with every register written back. In between, values are in LLVM registers. The code is
position-independent of its program: identical programs share it.
"""

from __future__ import annotations

from .llvm_writer import NotCompilable, TypedValue
from .loops import LoopCode
from .operations import any_holds, emit_operations, has_zero, inline_node
from .program import Argument, ProgramDescription
from .prologue_epilogue import emit_epilogue, emit_prologue, exit_if
from .registers import CELL_BYTES, RegisterFile
from .straight_line import emit_straight_line, run_end
from .vector_width import function_attributes

#: Runtime helper functions (compiler_bridge.pyx).
HELPERS = (
    "declare void @loopdbg_flush(ptr, ptr)",
    "declare void @loopdbg_begin(ptr, i64, i64)",
    "declare i32 @loopdbg_full(ptr)",
    "declare void @loopdbg_record(ptr, ptr, i64)",
    "declare i32 @loopdbg_node(ptr)",
    "declare void @loopdbg_note(ptr, i32, ptr, ptr, i64)",
)
BRANCH_WEIGHTS = ('!0 = !{!"branch_weights", i32 4000, i32 1}', '!1 = !{!"branch_weights", i32 1, i32 4000}')


def lower(program: ProgramDescription) -> str:
    """Lower a program to the text of an LLVM module; its function is ``run``.

    Raises:
        NotCompilable: the program needs the interpreter.
    """
    registers = RegisterFile(program)
    emit_function(registers)
    body = "\n".join(registers.writer.lines)
    attributes = function_attributes(program, registers.types)
    function = f"define i32 @run(ptr %p, ptr %watch, ptr %budget) {attributes} {{\n{body}\n}}"
    return "\n".join([*registers.writer.declarations(), *HELPERS, function, *BRANCH_WEIGHTS, ""])


def emit_function(registers: RegisterFile) -> None:
    """Emit all blocks of the function."""
    program = registers.program
    registers.writer.begin_block("entry")
    root_bound = emit_prologue(registers)
    loops = [LoopCode(registers, k) for k in range(len(program.loops))]
    instructions = InstructionCode(registers, loops, root_bound)
    k, targets = 0, program.jump_targets()
    while k < len(program.code):
        registers.writer.begin_block(f"at{k}")
        last = run_end(program, k, targets)
        if last > k:
            emit_straight_line(registers, k, last)
        else:
            instructions.emit(k)
        k = max(last, k + 1)
    for loop in loops:
        loop.head()
    emit_epilogue(registers)
    registers.insert_entry_block_code()


class InstructionCode:
    """Emits instructions that are not in straight-line runs: control, and what may fail."""

    def __init__(self, registers: RegisterFile, loops: list[LoopCode], root_bound: str) -> None:
        self.registers, self.program, self.writer = registers, registers.program, registers.writer
        self.loops, self.root_bound = loops, root_bound
        self.loop_of = self.program.innermost_loop_by_instruction()
        self.control_names = {opcode: name for name, opcode in self.program.layout.control.items()}

    def emit(self, k: int) -> None:
        """Emit an instruction and the branch behind it."""
        op, d, a, b, _ = self.program.code[k]
        w = self.writer
        match self.control_names.get(op, ""):
            case "" | "EACH":
                self.operation(k)
            case "CALL":
                self.call(a)
            case "LOAD":
                self.gather(k, d, a)
            case "COUNT":
                number = "0" if a < 0 else w.add(self.loops[self.loop_of[k]].load("i"), a)
                i = w.cast(TypedValue(number, "int64_t"), "int64_t" if b else "int32_t")
                self.registers.write_value(d, i)
            case "STOP_IF":
                self.exit_if(self.registers.is_true(a), k)
            case "ANY":
                holds = any_holds(self.registers, self.program.any_tests[a])
                self.registers.write_value(d, TypedValue(w.assign(f"zext i1 {holds} to i8"), "uint8_t"))
                if b:
                    self.exit_if(holds, k)
            case "NODE":
                self.node(k, a)
            case "BLOCK":
                self.registers.move(a, d)
            case "BRANCH":
                w.branch_if(self.registers.is_true(a), f"at{k + 1}", f"at{d}")
                return
            case "JUMP":
                w.branch(f"at{d}")
                return
            case "ENTER":
                self.loops[a].enter(k)
                return
            case "NEXT":
                self.loops[a].emit_boundary(k, self.root_bound)
                return
            case "TEST":
                self.loops[self.loop_of[k]].test(k, a)
                return
        w.branch(f"at{k + 1}")

    def exit_if(self, condition: str, k: int) -> None:
        """Leave an instruction to the engine if a condition holds."""
        exit_if(self.registers, condition, "AT_INSN", self.loop_of[k], k)

    def operation(self, k: int) -> None:
        """Emit an operation that may fail (division by zero) or overwrites its operand."""
        op, _, a, b, _ = self.program.code[k]
        opcode, operation = self.program.operation_of(k)
        if operation is None and opcode not in self.program.layout.choices:
            raise NotCompilable(f"opcode {opcode}")
        if operation is not None and operation.divides:
            if op == opcode:
                divisor = self.registers.read_as_c_type(b, operation.argument)
                zero = self.writer.assign(f"icmp eq {divisor.llvm_type} {divisor.text}, 0")
            else:
                zero = has_zero(self.registers, operation.argument, self.program.elementwise_operations[a][1][1])
            self.exit_if(zero, k)
        emit_operations(self.registers, k, k + 1)

    def call(self, number: int) -> None:
        """Call an elementwise kernel on one element, through memory."""
        w, arguments = self.writer, self.program.calls[number]
        for j, k in enumerate(arguments):
            cell = w.address("%cells", CELL_BYTES * j)
            element = self.registers.read_bits(k, "i64")
            vector = w.assign(f"insertelement <8 x i64> zeroinitializer, i64 {element}, i32 0")
            w.emit(f"store <8 x i64> {vector}, ptr {cell}, align {CELL_BYTES}")
            w.emit(f"store ptr {cell}, ptr {w.address('%args', 8 * j)}")
        w.emit(f"call void %loop{number}(ptr %args, ptr %one, ptr %steps{number}, ptr %data{number})")
        result, cell = arguments[-1], w.address("%cells", CELL_BYTES * (len(arguments) - 1))
        self.registers.write(result, w.assign(f"load {self.registers.types[result]}, ptr {cell}"))
        w.store("fuel", w.assign(f"sub i64 {w.load('fuel')}, 8"))

    def gather(self, k: int, d: int, number: int) -> None:
        """Load one element of a constant tensor; exits where the index is out of range."""
        w = self.writer
        nbytes, length, index, is_int64 = self.program.loads[number]
        i = w.cast(self.registers.read_as_c_type(index, "int64_t" if is_int64 else "int32_t"), "int64_t").text
        wrapped = w.add(i, length)
        i = w.select(w.compare_integers("slt", "i64", i, 0), "i64", wrapped, i)
        self.exit_if(w.compare_integers("uge", "i64", i, length), k)
        self.registers.load_bytes(d, w.address(f"%from{number}", w.multiply(i, nbytes)), nbytes)

    def node(self, k: int, number: int) -> None:
        """Emit a node: inline for a search, or a small NaN-free product or fold of known order; else by its kernels."""
        w = self.writer
        _, _, cost, order = self.program.nodes[number]
        w.store("fuel", w.assign(f"sub i64 {w.load('fuel')}, {cost}"))
        if order is None:
            self.run_kernels(k, number)
            return
        results, is_nan = inline_node(self.registers, order)
        if is_nan == "false":
            self.write_results(results)
            return
        kernels, numeric, done = w.fresh_name("kernels"), w.fresh_name("good"), w.fresh_name("done")
        w.branch_if(is_nan, kernels, numeric, likely=False)
        w.begin_block(kernels)
        self.run_kernels(k, number)
        w.branch(done)
        w.begin_block(numeric)
        self.write_results(results)
        w.branch(done)
        w.begin_block(done)

    def write_results(self, results: list[tuple[Argument, str, str]]) -> None:
        for (register, offsets), element, lanes in results:
            self.registers.scatter_lanes(register, element, offsets, lanes)

    def run_kernels(self, k: int, number: int) -> None:
        """Call a node's kernels on registers, through memory."""
        w = self.writer
        arguments, results, _, _ = self.program.nodes[number]
        for register in arguments:
            self.registers.spill(register, padded=True)
        address = w.address("%nodes", number * w.offsets["node"])
        failed = w.compare_integers("eq", "i32", w.assign(f"call i32 @loopdbg_node(ptr {address})"), 0)
        self.exit_if(failed, k)
        for register in results:
            self.registers.fill(register)
