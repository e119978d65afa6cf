"""C routines that no inner loop over arguments can compute, one module per theme.

A module has ``ROUTINES``: name -> address of ``int function(loopdbg_call *call)``. Its arguments are
``LOOPDBG_ARG(call, k)``: inputs, outputs, then scratch memory if it needs any, each in row-major order and aligned for
its elements; ``call->extra`` holds its numbers. It writes all of its outputs, keeps no state between calls, allocates
no memory, does not take the GIL, and returns 0, or 1 on failure. Its results depend only on its inputs, to the bit, not
on addresses or earlier calls. Variants for processors are selected at run time; processors may round
differently.

The exception is ``sequences``, whose arguments and results are Python objects.
"""
