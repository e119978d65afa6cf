"""How the code of a program is entered and left: everything is taken out of memory, and written back."""

from __future__ import annotations

from typing import Any

from .expressions import bits, parts, vector
from .lanes import Lanes
from .registers import Description, Layout

#: Bytes for a number that a loop over elements reads, as many as it reads at once: a read of more than what was written
#: waits until that, and everything before, is done.
CELL = 64
LEAVES = ("at_insn", "at_loop", "suspended", "status")


class Passage(Lanes):
    """What comes before a program's instructions, and behind them."""

    def __init__(self, program: Description, layout: Layout) -> None:
        super().__init__(program, layout)
        self.bound = ""  # the first iteration that the outermost loop does not reach in here
        self.nexts = {a: k for k, (op, _, a, _, _) in enumerate(program.code) if op == self.control["NEXT"]}

    def enter(self) -> None:
        """Take everything out of memory, and go on where the program stands."""
        w, offsets = self.w, self.layout.offsets
        for k in range(len(self.types)):
            w.do(f"%r{k} = alloca {self.room(k)}")
        for name in LEAVES:
            w.do(f"%{name} = alloca i32")
        widest = max([len(c) for c in self.program.calls], default=0)
        if widest:
            w.do(f"%cells = alloca [{widest} x <8 x i64>], align {CELL}")
            w.do(f"%args = alloca [{widest} x ptr]")
            w.do("%one = alloca i64")
            self.store("one", 1)
        w.do("%fuel = alloca i64")
        self.store("fuel", w.let("load i64, ptr %budget"))
        w.do(f"%R = load ptr, ptr {self.at('%p', offsets['program.registers'])}")
        for k, t in enumerate(self.types):
            self.write(k, w.let(f"load {t}, ptr {self.at('%R', self.places[k])}, align 1"))
        loops = self.field("%p", "program.loops", "ptr")
        for k in range(len(self.program.loops)):
            self.enter_loop(k, loops)
        self.enter_root()
        self.enter_arrays()
        fresh = w.is_("eq", "i32", self.field("%p", "program.suspended", "i32"), 0)
        w.choose(fresh, "head0", "again")
        w.begin("again")
        self.set_field("%p", "program.suspended", "i32", "0")
        where = self.field("%p", "program.at_loop", "i32")
        targets = " ".join(f"i32 {k}, label %at{at}" for k, at in self.nexts.items() if k)
        w.do(f"switch i32 {where}, label %at{self.nexts[0]} [ {targets} ]")

    def enter_loop(self, k: int, loops: str) -> None:
        w = self.w
        w.do(f"%L{k} = getelementptr i8, ptr {loops}, i64 {k * self.layout.offsets['loop']}")
        for name, t in (("i", "i64"), ("trips", "i64"), ("stop_before", "i64"), ("keep", "i32"), ("ended", "i32")):
            w.do(f"%{name}{k} = alloca {t}")
            self.store(f"{name}{k}", self.field(f"%L{k}", f"loop.{name}", t), t)
        w.do(f"%parts{k} = load i64, ptr {self.at(f'%L{k}', self.layout.offsets['loop.parts'])}")
        for name in ("iterations", "entries", "by_reason", "history"):
            w.do(f"%{name}{k} = load ptr, ptr {self.at(f'%L{k}', self.layout.offsets[f'loop.{name}'])}")

    def enter_root(self) -> None:
        """What only the outermost loop has: scan outputs and slices, and a limit that nothing in here moves."""
        w, root = self.w, self.program.loops[0]
        self.bound = self.root_limit(root)
        scans, slices = self.field("%L0", "loop.scans", "ptr"), self.field("%L0", "loop.slices", "ptr")
        for k in range(len(root["scans"])):
            scan = self.at(scans, k * self.layout.offsets["scan"])
            w.do(f"%scan{k} = getelementptr i8, ptr {scan}, i64 0")
            w.do(f"%buffer{k} = load ptr, ptr {self.at(scan, self.layout.offsets['scan.buffer'])}")
            w.do(f"%capacity{k} = load i64, ptr {self.at(scan, self.layout.offsets['scan.capacity'])}")
            w.do(f"%count{k} = alloca i64")
            self.store(f"count{k}", self.field(scan, "scan.count", "i64"))
        for k in range(len(root["slices"])):
            sliced = self.at(slices, k * self.layout.offsets["slice"])
            w.do(f"%base{k} = load ptr, ptr {self.at(sliced, self.layout.offsets['slice.base'])}")
            w.do(f"%step{k} = load i64, ptr {self.at(sliced, self.layout.offsets['slice.step'])}")

    def root_limit(self, root: dict[str, Any]) -> str:
        """The least of what bounds its iterations, so that one test is enough: nothing in here changes any of them."""
        w, limit, trips = self.w, self.load("stop_before0"), self.load("trips0")
        endless = w.is_("slt", "i64", trips, 0)
        limit = self.lesser(limit, w.let(f"select i1 {endless}, i64 {2**63 - 1}, i64 {trips}"))
        return self.lesser(limit, "%parts0") if root["counted"] or root["slices"] else limit

    def lesser(self, a: str, b: str) -> str:
        return self.w.let(f"select i1 {self.w.is_('slt', 'i64', a, b)}, i64 {a}, i64 {b}")

    def enter_arrays(self) -> None:
        w, offsets = self.w, self.layout.offsets
        calls, loads = self.field("%p", "program.calls", "ptr"), self.field("%p", "program.loads", "ptr")
        for k in range(len(self.program.calls)):
            call = self.at(calls, k * offsets["call"])
            w.do(f"%loop{k} = load ptr, ptr {self.at(call, offsets['call.loop'])}")
            w.do(f"%data{k} = load ptr, ptr {self.at(call, offsets['call.data'])}")
            w.do(f"%steps{k} = getelementptr i8, ptr {call}, i64 {offsets['call.steps']}")
        for k in range(len(self.program.loads)):
            where = self.at(self.at(loads, k * offsets["load"]), offsets["load.base"])
            w.do(f"%from{k} = load ptr, ptr {where}")
        if self.program.nodes:
            w.do(f"%nodes = load ptr, ptr {self.at('%p', offsets['program.nodes'])}")

    def go_out(self, status: str, loop: int, instruction: int = 0, suspended: int = 0) -> None:
        """Leave from here."""
        self.store("status", self.layout.numbers[status], "i32")
        self.store("at_loop", loop, "i32")
        self.store("at_insn", instruction, "i32")
        self.store("suspended", suspended, "i32")
        self.w.go("leave")

    def out_if(self, condition: str, status: str, loop: int, instruction: int = 0) -> None:
        """Leave where a condition holds, which is seldom; go on behind."""
        w = self.w
        out, on = w.name("out"), w.name("on")
        w.choose(condition, out, on, likely=False)
        w.begin(out)
        self.go_out(status, loop, instruction, int(status == "TICK"))
        w.begin(on)

    def leave(self) -> None:
        """Write everything back."""
        w = self.w
        w.begin("leave")
        for k in range(len(self.types)):
            self.show(k)
        for k in range(len(self.program.loops)):
            for name, t in (("i", "i64"), ("trips", "i64"), ("stop_before", "i64"), ("keep", "i32"), ("ended", "i32")):
                self.set_field(f"%L{k}", f"loop.{name}", t, self.load(f"{name}{k}", t))
        for k in range(len(self.program.loops[0]["scans"])):
            self.set_field(f"%scan{k}", "scan.count", "i64", self.load(f"count{k}"))
        for name in LEAVES[:3]:
            self.set_field("%p", f"program.{name}", "i32", self.load(name, "i32"))
        w.do(f"store i64 {self.load('fuel')}, ptr %budget")
        w.do(f"ret i32 {self.load('status', 'i32')}")

    def show(self, k: int, wide: bool = False) -> None:
        """Write a register to where the program has it. ``wide``: as widely as kernels read it."""
        t, text = self.types[k], self.read(k)
        if wide and self.program.registers[k][0] > 8:
            element, _ = parts(t)
            room = vector(element, -(-bits(t) // (8 * CELL)) * 8 * CELL // bits(element))
            t, text = room, self.resized(text, t, room)
        self.w.do(f"store {t} {text}, ptr {self.at('%R', self.places[k])}, align 1")
