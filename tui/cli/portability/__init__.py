"""The command ``loopdbg check``."""
