"""The baseline tier: state, memory, binder, interpreter, loops. It does not depend on the optimizer."""
