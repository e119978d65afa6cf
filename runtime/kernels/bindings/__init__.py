"""C functions that compute what no walk of an inner loop over its arguments does, a module a family.

A module has ``ROUTINES``: name -> address of ``int function(loopdbg_call *call)``. Its arguments are
``LOOPDBG_ARG(call, k)``: inputs, outputs, then scratch where it asked for some, each in row-major order and aligned as
its elements need; ``call->extra`` holds its numbers. It writes all of its outputs, keeps nothing between calls, takes
no memory and no GIL, and returns 0, or 1 where it fails. What it gives depends on its inputs alone, to the bit: not on
where they lie, nor on what was computed before. What is better on one processor than on another is chosen when it
runs; two processors may round in different ways.

Those of ``sequences`` are the exception: what they make and read are Python objects.
"""
