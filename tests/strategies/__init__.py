"""Generators of random models for tests.

``program_generator`` builds programs with loops of any format from named features (``node_generator``: the operators of
a body, ``loop_generator``: the loops), ``onnx_export`` and ``ir_export`` write them, and ``program_oracle`` evaluates
them with plain NumPy. The other modules build loops of one kind to stress one part of the engine, such as
``varying_lengths``, ``scalar_loops``, ``large_tensors`` and ``row_products``.
"""
