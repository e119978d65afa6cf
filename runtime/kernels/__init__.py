"""Native kernels: bound calls, their inner loops, and the iteration over their arguments."""
