"""The loop runtime: model files, the loop graph, the plan and the engine. It knows nothing of debugging or screens."""
