"""No Python names: see scalar.pxd."""
