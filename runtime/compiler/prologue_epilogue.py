"""Prologue and epilogue of compiled programs: load the state from memory, and write it back."""

from __future__ import annotations

from typing import Any

from .llvm_writer import LlvmWriter
from .registers import CELL_BYTES, RegisterFile

EXIT_FIELDS = ("at_insn", "at_loop", "suspended", "status")
#: Fields of a loop that are variables of the function, with their types.
LOOP_VARIABLES = (("i", "i64"), ("trips", "i64"), ("stop_before", "i64"), ("keep", "i32"), ("ended", "i32"))


def emit_prologue(registers: RegisterFile) -> str:
    """Load the state from memory and jump to the program's position; return the root loop's iteration bound."""
    w, program = registers.writer, registers.program
    for k in range(len(registers.types)):
        w.emit(f"%r{k} = alloca {registers.storage_type(k)}")
    for name in EXIT_FIELDS:
        w.emit(f"%{name} = alloca i32")
    max_arguments = max([len(c) for c in program.calls], default=0)
    if max_arguments:
        w.emit(f"%cells = alloca [{max_arguments} x <8 x i64>], align {CELL_BYTES}")
        w.emit(f"%args = alloca [{max_arguments} x ptr]")
        w.emit("%one = alloca i64")
        w.store("one", 1)
    w.emit("%fuel = alloca i64")
    w.store("fuel", w.load("budget"))
    w.load_named_field("R", "%p", "program.registers")
    for k in range(len(registers.types)):
        registers.fill(k)
    loops = w.load_field("%p", "program.loops", "ptr")
    for k in range(len(program.loops)):
        enter_loop(w, k, loops)
    root_bound = load_root_loop(w, program.loops[0])
    load_array_addresses(registers)
    registers.mark_entry_block_end()
    fresh = w.compare_integers("eq", "i32", w.load_field("%p", "program.suspended", "i32"), 0)
    w.branch_if(fresh, "head0", "again")
    w.begin_block("again")
    w.store_field("%p", "program.suspended", "0", "i32")
    position = w.load_field("%p", "program.at_loop", "i32")
    next_instruction_by_loop = program.next_instruction_by_loop()
    targets = " ".join(f"i32 {k}, label %at{instruction}" for k, instruction in next_instruction_by_loop.items() if k)
    w.emit(f"switch i32 {position}, label %at{next_instruction_by_loop[0]} [ {targets} ]")
    return root_bound


def enter_loop(w: LlvmWriter, k: int, loops: str) -> None:
    w.emit(f"%L{k} = getelementptr i8, ptr {loops}, i64 {k * w.offsets['loop']}")
    for name, t in LOOP_VARIABLES:
        w.emit(f"%{name}{k} = alloca {t}")
        w.store(f"{name}{k}", w.load_field(f"%L{k}", f"loop.{name}", t), t)
    w.load_named_field(f"parts{k}", f"%L{k}", "loop.parts", "i64")
    for name in ("iterations", "entries", "by_reason", "by_length", "history"):
        w.load_named_field(f"{name}{k}", f"%L{k}", f"loop.{name}")


def load_root_loop(w: LlvmWriter, root: dict[str, Any]) -> str:
    """Load what only the outermost loop has: scan outputs and slices; return its iteration bound."""
    bound = least_iteration_limit(w, root)
    scans, slices = w.load_field("%L0", "loop.scans", "ptr"), w.load_field("%L0", "loop.slices", "ptr")
    for k in range(len(root["scans"])):
        scan = w.address(scans, k * w.offsets["scan"])
        w.emit(f"%scan{k} = getelementptr i8, ptr {scan}, i64 0")
        w.load_named_field(f"buffer{k}", scan, "scan.buffer")
        w.load_named_field(f"capacity{k}", scan, "scan.capacity", "i64")
        w.emit(f"%count{k} = alloca i64")
        w.store(f"count{k}", w.load_field(scan, "scan.count"))
    for k in range(len(root["slices"])):
        sliced = w.address(slices, k * w.offsets["slice"])
        w.load_named_field(f"base{k}", sliced, "slice.base")
        w.load_named_field(f"step{k}", sliced, "slice.step", "i64")
    return bound


def least_iteration_limit(w: LlvmWriter, root: dict[str, Any]) -> str:
    """The loop-invariant minimum of all iteration bounds (exclusive), so that one test suffices."""
    limit, trips = w.load("stop_before0"), w.load("trips0")
    endless = w.compare_integers("slt", "i64", trips, 0)
    limit = minimum(w, limit, w.select(endless, "i64", str(2**63 - 1), trips))
    return minimum(w, limit, "%parts0") if root["counted"] or root["slices"] else limit


def minimum(w: LlvmWriter, a: str, b: str) -> str:
    return w.select(w.compare_integers("slt", "i64", a, b), "i64", a, b)


def load_array_addresses(registers: RegisterFile) -> None:
    """Load what calls, loads and nodes access."""
    w, program = registers.writer, registers.program
    calls, loads = w.load_field("%p", "program.calls", "ptr"), w.load_field("%p", "program.loads", "ptr")
    for k in range(len(program.calls)):
        call = w.address(calls, k * w.offsets["call"])
        w.load_named_field(f"loop{k}", call, "call.loop")
        w.load_named_field(f"data{k}", call, "call.data")
        w.emit(f"%steps{k} = getelementptr i8, ptr {call}, i64 {w.offsets['call.steps']}")
    for k in range(len(program.loads)):
        w.load_named_field(f"from{k}", w.address(loads, k * w.offsets["load"]), "load.base")
    if program.nodes:
        w.load_named_field("nodes", "%p", "program.nodes")


def exit_if(registers: RegisterFile, condition: str, status: str, loop: int, instruction: int = 0) -> None:
    """Exit with a status if a condition holds (unlikely); else continue."""
    w, numbers = registers.writer, registers.program.layout.numbers
    out, continued = w.fresh_name("out"), w.fresh_name("on")
    w.branch_if(condition, out, continued, likely=False)
    w.begin_block(out)
    w.store("status", numbers[status], "i32")
    w.store("at_loop", loop, "i32")
    w.store("at_insn", instruction, "i32")
    w.store("suspended", int(status == "TICK"), "i32")
    w.branch("leave")
    w.begin_block(continued)


def emit_epilogue(registers: RegisterFile) -> None:
    """Write the state back and return."""
    w, program = registers.writer, registers.program
    w.begin_block("leave")
    for k in range(len(registers.types)):
        registers.spill(k)
    for k in range(len(program.loops)):
        for name, t in LOOP_VARIABLES:
            w.store_field(f"%L{k}", f"loop.{name}", w.load(f"{name}{k}", t), t)
    for k in range(len(program.loops[0]["scans"])):
        w.store_field(f"%scan{k}", "scan.count", w.load(f"count{k}"))
    for name in EXIT_FIELDS[:3]:
        w.store_field("%p", f"program.{name}", w.load(name, "i32"), "i32")
    w.store("budget", w.load("fuel"))
    w.emit(f"ret i32 {w.load('status', 'i32')}")
