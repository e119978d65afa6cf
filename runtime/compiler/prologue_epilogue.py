"""Prologue and epilogue of compiled programs: load the state from memory, and write it back."""

from __future__ import annotations

from typing import Any

from .c_expressions import bit_width, element_and_lanes, vector_type
from .registers import ProgramDescription, ProgramLayout
from .vector_lanes import VectorLanes

#: Bytes of a kernel's argument cell, the width of its vector load: a load wider than the last store fails
#: store-to-load forwarding and stalls.
CELL_BYTES = 64
EXIT_FIELDS = ("at_insn", "at_loop", "suspended", "status")


class PrologueEpilogue(VectorLanes):
    """Emits the prologue and epilogue of a program."""

    def __init__(self, program: ProgramDescription, layout: ProgramLayout) -> None:
        super().__init__(program, layout)
        self.root_bound = ""  # exclusive iteration bound of the outermost loop
        self.next_instructions = {a: k for k, (op, _, a, _, _) in enumerate(program.code) if op == self.control["NEXT"]}

    def enter(self) -> None:
        """Load the state from memory and jump to the program's position."""
        w, offsets = self.writer, self.layout.offsets
        for k in range(len(self.types)):
            w.emit(f"%r{k} = alloca {self.storage_type(k)}")
        for name in EXIT_FIELDS:
            w.emit(f"%{name} = alloca i32")
        max_arguments = max([len(c) for c in self.program.calls], default=0)
        if max_arguments:
            w.emit(f"%cells = alloca [{max_arguments} x <8 x i64>], align {CELL_BYTES}")
            w.emit(f"%args = alloca [{max_arguments} x ptr]")
            w.emit("%one = alloca i64")
            self.store("one", 1)
        w.emit("%fuel = alloca i64")
        self.store("fuel", w.assign("load i64, ptr %budget"))
        w.emit(f"%R = load ptr, ptr {self.address('%p', offsets['program.registers'])}")
        for k, t in enumerate(self.types):
            self.write(k, w.assign(f"load {t}, ptr {self.address('%R', self.register_offsets[k])}, align 1"))
        loops = self.field("%p", "program.loops", "ptr")
        for k in range(len(self.program.loops)):
            self.enter_loop(k, loops)
        self.enter_root()
        self.enter_arrays()
        fresh = w.compare_integers("eq", "i32", self.field("%p", "program.suspended", "i32"), 0)
        w.branch_if(fresh, "head0", "again")
        w.begin_block("again")
        self.set_field("%p", "program.suspended", "i32", "0")
        loop = self.field("%p", "program.at_loop", "i32")
        targets = " ".join(f"i32 {k}, label %at{instruction}" for k, instruction in self.next_instructions.items() if k)
        w.emit(f"switch i32 {loop}, label %at{self.next_instructions[0]} [ {targets} ]")

    def enter_loop(self, k: int, loops: str) -> None:
        w = self.writer
        w.emit(f"%L{k} = getelementptr i8, ptr {loops}, i64 {k * self.layout.offsets['loop']}")
        for name, t in (("i", "i64"), ("trips", "i64"), ("stop_before", "i64"), ("keep", "i32"), ("ended", "i32")):
            w.emit(f"%{name}{k} = alloca {t}")
            self.store(f"{name}{k}", self.field(f"%L{k}", f"loop.{name}", t), t)
        w.emit(f"%parts{k} = load i64, ptr {self.address(f'%L{k}', self.layout.offsets['loop.parts'])}")
        for name in ("iterations", "entries", "by_reason", "history"):
            w.emit(f"%{name}{k} = load ptr, ptr {self.address(f'%L{k}', self.layout.offsets[f'loop.{name}'])}")

    def enter_root(self) -> None:
        """Load what only the outermost loop has: scan outputs, slices and the iteration bound."""
        w, root = self.writer, self.program.loops[0]
        self.root_bound = self.root_limit(root)
        scans, slices = self.field("%L0", "loop.scans", "ptr"), self.field("%L0", "loop.slices", "ptr")
        for k in range(len(root["scans"])):
            scan = self.address(scans, k * self.layout.offsets["scan"])
            w.emit(f"%scan{k} = getelementptr i8, ptr {scan}, i64 0")
            w.emit(f"%buffer{k} = load ptr, ptr {self.address(scan, self.layout.offsets['scan.buffer'])}")
            w.emit(f"%capacity{k} = load i64, ptr {self.address(scan, self.layout.offsets['scan.capacity'])}")
            w.emit(f"%count{k} = alloca i64")
            self.store(f"count{k}", self.field(scan, "scan.count", "i64"))
        for k in range(len(root["slices"])):
            sliced = self.address(slices, k * self.layout.offsets["slice"])
            w.emit(f"%base{k} = load ptr, ptr {self.address(sliced, self.layout.offsets['slice.base'])}")
            w.emit(f"%step{k} = load i64, ptr {self.address(sliced, self.layout.offsets['slice.step'])}")

    def root_limit(self, root: dict[str, Any]) -> str:
        """The loop-invariant minimum of all iteration bounds, so that one test suffices."""
        w, limit, trips = self.writer, self.load("stop_before0"), self.load("trips0")
        endless = w.compare_integers("slt", "i64", trips, 0)
        limit = self.minimum(limit, w.assign(f"select i1 {endless}, i64 {2**63 - 1}, i64 {trips}"))
        return self.minimum(limit, "%parts0") if root["counted"] or root["slices"] else limit

    def minimum(self, a: str, b: str) -> str:
        return self.writer.assign(f"select i1 {self.writer.compare_integers('slt', 'i64', a, b)}, i64 {a}, i64 {b}")

    def enter_arrays(self) -> None:
        w, offsets = self.writer, self.layout.offsets
        calls, loads = self.field("%p", "program.calls", "ptr"), self.field("%p", "program.loads", "ptr")
        for k in range(len(self.program.calls)):
            call = self.address(calls, k * offsets["call"])
            w.emit(f"%loop{k} = load ptr, ptr {self.address(call, offsets['call.loop'])}")
            w.emit(f"%data{k} = load ptr, ptr {self.address(call, offsets['call.data'])}")
            w.emit(f"%steps{k} = getelementptr i8, ptr {call}, i64 {offsets['call.steps']}")
        for k in range(len(self.program.loads)):
            address = self.address(self.address(loads, k * offsets["load"]), offsets["load.base"])
            w.emit(f"%from{k} = load ptr, ptr {address}")
        if self.program.nodes:
            w.emit(f"%nodes = load ptr, ptr {self.address('%p', offsets['program.nodes'])}")

    def emit_exit(self, status: str, loop: int, instruction: int = 0, suspended: int = 0) -> None:
        """Exit with a status."""
        self.store("status", self.layout.numbers[status], "i32")
        self.store("at_loop", loop, "i32")
        self.store("at_insn", instruction, "i32")
        self.store("suspended", suspended, "i32")
        self.writer.branch("leave")

    def exit_if(self, condition: str, status: str, loop: int, instruction: int = 0) -> None:
        """Exit if a condition holds (unlikely); else continue."""
        w = self.writer
        out, continued = w.fresh_name("out"), w.fresh_name("on")
        w.branch_if(condition, out, continued, likely=False)
        w.begin_block(out)
        self.emit_exit(status, loop, instruction, int(status == "TICK"))
        w.begin_block(continued)

    def leave(self) -> None:
        """Emit the epilogue: write the state back."""
        w = self.writer
        w.begin_block("leave")
        for k in range(len(self.types)):
            self.spill(k)
        for k in range(len(self.program.loops)):
            for name, t in (("i", "i64"), ("trips", "i64"), ("stop_before", "i64"), ("keep", "i32"), ("ended", "i32")):
                self.set_field(f"%L{k}", f"loop.{name}", t, self.load(f"{name}{k}", t))
        for k in range(len(self.program.loops[0]["scans"])):
            self.set_field(f"%scan{k}", "scan.count", "i64", self.load(f"count{k}"))
        for name in EXIT_FIELDS[:3]:
            self.set_field("%p", f"program.{name}", "i32", self.load(name, "i32"))
        w.emit(f"store i64 {self.load('fuel')}, ptr %budget")
        w.emit(f"ret i32 {self.load('status', 'i32')}")

    def spill(self, k: int, padded: bool = False) -> None:
        """Store a register to the program's memory. ``padded``: with the padding that kernels read."""
        t, text = self.types[k], self.read(k)
        if padded and self.program.registers[k][0] > 8:
            element, _ = element_and_lanes(t)
            target = vector_type(element, -(-bit_width(t) // (8 * CELL_BYTES)) * 8 * CELL_BYTES // bit_width(element))
            t, text = target, self.resize_vector(text, t, target)
        self.writer.emit(f"store {t} {text}, ptr {self.address('%R', self.register_offsets[k])}, align 1")
