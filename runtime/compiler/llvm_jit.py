"""Background compilation of scalar programs with LLVM, while the interpreter continues.

llvmlite (extra ``fast``) is imported with the first program worth compiling; without it, the interpreter runs all.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

#: Compilation is enabled: llvmlite is installed and LOOPDBG_COMPILE is not 0.
enabled = os.environ.get("LOOPDBG_COMPILE", "") != "0"
#: Compile every program at once, whatever the cost; for tests.
eager = os.environ.get("LOOPDBG_COMPILE", "") == "now"
#: Size of the code cache, in programs.
MAX_CACHED_PROGRAMS = 256

#: Estimate for the first program, including the import.
FIRST_COMPILE_SECONDS = 0.15

_lock = threading.Lock()  # LLVM is not thread-safe
_cache: dict[bytes, CompiledProgram] = {}
_initialized = False
_symbols: dict[str, int] = {}


def _after_fork() -> None:
    """Disable compilation in a forked child if another thread held the lock at the fork."""
    global enabled, _lock
    enabled = enabled and not _lock.locked()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class CompiledProgram:
    """The code of one program; owns its execution engine."""

    def __init__(self, engine: Any, address: int, seconds: float) -> None:
        self._engine = engine
        self.address = address
        self.seconds = seconds


class CompileJob:
    """A pending compilation; once ``done``, ``code`` is the result, or None on failure."""

    def __init__(self, lower: Callable[[], str]) -> None:
        self._lower = lower
        self.done = False
        self.code: CompiledProgram | None = None

    def start(self) -> CompileJob:
        """Start the job in a background thread."""
        threading.Thread(target=self.run, name="loopdbg-compile").start()
        return self

    def run(self) -> CompileJob:
        try:
            self.code = compile_program(self._lower)
        except RuntimeError:  # of LLVM
            if eager:
                raise
        finally:
            self.done = True
        return self


def register_symbols(symbols: dict[str, int]) -> None:
    """Register the addresses of runtime functions that code calls by name."""
    _symbols.update(symbols)


def is_available() -> bool:
    """Is llvmlite installed? The result is cached."""
    global enabled
    if enabled:
        try:
            import llvmlite.binding  # noqa: F401
        except ImportError:
            enabled = False
    return enabled


def compile_program(lower: Callable[[], str]) -> CompiledProgram | None:
    """Compile a program; None if only the interpreter can run it."""
    from .llvm_writer import NotCompilable

    if not is_available():
        return None
    start = time.perf_counter()
    try:
        text = lower()
    except NotCompilable:
        return None
    from hashlib import sha1  # loads OpenSSL

    key = sha1(text.encode()).digest()
    with _lock:
        if key not in _cache:
            engine = build_engine(text)
            while len(_cache) >= MAX_CACHED_PROGRAMS:
                del _cache[next(iter(_cache))]
            _cache[key] = CompiledProgram(engine, engine.get_function_address("run"), time.perf_counter() - start)
        return _cache[key]


def expected_compile_seconds() -> float:
    """Expected compile time of a program: the mean of previous ones."""
    seconds = [code.seconds for code in list(_cache.values())]
    return sum(seconds) / len(seconds) if seconds else FIRST_COMPILE_SECONDS


def build_engine(text: str) -> Any:
    """Build the execution engine of a module. No fast-math option is set: nothing is contracted or reordered."""
    global _initialized
    import llvmlite.binding as llvm

    if not _initialized:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for name, address in _symbols.items():
            llvm.add_symbol(name, address)
        _initialized = True
    features = llvm.get_host_cpu_features().flatten()
    # Each engine owns its target machine.
    target = llvm.Target.from_default_triple().create_target_machine(llvm.get_host_cpu_name(), features, opt=2)
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return engine
