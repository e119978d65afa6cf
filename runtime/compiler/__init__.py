"""Machine code for loops over small tensors: what the engine describes as a program becomes code of LLVM.

Nothing here knows of engines, models or files: a program is a ``Description`` of registers and instructions
(registers.py), and what comes out is the address of a function (llvm_jit.py).
"""
