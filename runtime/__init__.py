"""The loop runtime: model files, loop graph, plan and engine; independent of the debugger and the user interface."""
