"""What runs a plan: state, memory, binder, interpreter, loops. It knows nothing of what makes it fast."""
