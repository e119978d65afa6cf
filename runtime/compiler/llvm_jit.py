"""Machine code for scalar programs, made by LLVM in another thread while the interpreter goes on.

llvmlite (extra ``fast``) is imported with the first program that is worth it; without it the interpreter does
everything.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

#: Whether programs are compiled at all: llvmlite is there, and LOOPDBG_COMPILE is not 0.
enabled = os.environ.get("LOOPDBG_COMPILE", "") != "0"
#: Whether each is compiled as soon as it is there, whatever that costs: for tests.
eager = os.environ.get("LOOPDBG_COMPILE", "") == "now"
#: Programs whose code is kept, for whoever makes one that is alike.
MAX_CACHED_PROGRAMS = 256

#: Seconds that the first program takes, with the import.
FIRST_COMPILE_SECONDS = 0.15

_lock = threading.Lock()  # LLVM is used by one thread at a time
_cache: dict[bytes, CompiledProgram] = {}
_initialized = False
_symbols: dict[str, int] = {}


def _after_fork() -> None:
    """In a process that was forked: where LLVM was at work in another thread, it is so for ever."""
    global enabled, _lock
    enabled = enabled and not _lock.locked()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class CompiledProgram:
    """The code of one program, which lives as long as this does."""

    def __init__(self, engine: Any, address: int, seconds: float) -> None:
        self._engine = engine
        self.address = address
        self.seconds = seconds


class CompileJob:
    """A program on its way to being compiled: ``done`` says when, ``code`` is None where LLVM or llvmlite could not."""

    def __init__(self, lower: Callable[[], str]) -> None:
        self._lower = lower
        self.done = False
        self.code: CompiledProgram | None = None

    def start(self) -> CompileJob:
        """Begin in another thread."""
        threading.Thread(target=self.run, name="loopdbg-compile").start()
        return self

    def run(self) -> CompileJob:
        try:
            self.code = compile_text(self._lower)
        except RuntimeError:  # of LLVM
            if eager:
                raise
        finally:
            self.done = True
        return self


def register_symbols(symbols: dict[str, int]) -> None:
    """Functions that code calls by name: their addresses."""
    _symbols.update(symbols)


def is_available() -> bool:
    """Is llvmlite there? Asked once."""
    global enabled
    if enabled:
        try:
            import llvmlite.binding  # noqa: F401
        except ImportError:
            enabled = False
    return enabled


def compile_text(lower: Callable[[], str]) -> CompiledProgram | None:
    """The code of a program; None where it is left to the interpreter."""
    from .registers import NotCompilable

    if not is_available():
        return None
    begun = time.perf_counter()
    try:
        text = lower()
    except NotCompilable:
        return None
    key = hashlib.sha1(text.encode()).digest()
    with _lock:
        if key not in _cache:
            engine = build_engine(text)
            while len(_cache) >= MAX_CACHED_PROGRAMS:
                del _cache[next(iter(_cache))]
            _cache[key] = CompiledProgram(engine, engine.get_function_address("run"), time.perf_counter() - begun)
        return _cache[key]


def expected_seconds() -> float:
    """The seconds that compiling a program is expected to take: what others took."""
    taken = [code.seconds for code in list(_cache.values())]
    return sum(taken) / len(taken) if taken else FIRST_COMPILE_SECONDS


def target_machine() -> Any:
    """The processor that code is made for. Each engine owns one."""
    global _initialized
    import llvmlite.binding as llvm

    if not _initialized:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for name, address in _symbols.items():
            llvm.add_symbol(name, address)
        _initialized = True
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )


def build_engine(text: str) -> Any:
    """An execution engine with the code of a module. No option of floats is set: nothing is contracted or reordered."""
    import llvmlite.binding as llvm

    target = target_machine()
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return engine
