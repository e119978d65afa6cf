"""The language of breakpoint conditions, ``print`` and ``set``; :mod:`.language` is its interface."""
