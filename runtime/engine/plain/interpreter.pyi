"""No Python names: see hot.pxd."""
