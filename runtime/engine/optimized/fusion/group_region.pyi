"""No Python names: see group.pxd."""
