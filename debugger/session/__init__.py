"""A run under the debugger: where it stands, forward, backward, and what if."""
