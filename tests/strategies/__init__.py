"""What random tests draw from.

``models`` makes programs with loops of any system by features that have names (``nodes``: what operators a body has,
``loops``: what loops have), ``onnx_form`` and ``ir_form`` write them, and ``oracle`` computes them with NumPy alone.
The other modules make loops of one kind, to try one part of the engine hard: ``mixed``, ``lengths``, ``scalars``,
``large`` and ``products``.
"""
