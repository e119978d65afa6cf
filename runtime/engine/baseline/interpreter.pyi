"""No Python names: see interpreter.pxd."""
