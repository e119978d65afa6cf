"""No Python names: see nodes.pxd."""
