"""JIT compiler for loops over small tensors: translates the engine's scalar programs to LLVM IR.

The package is independent of engines, models and files: its input is a ``ProgramDescription`` of registers and
instructions (program.py), its output the address of a function (llvm_jit.py).
"""
