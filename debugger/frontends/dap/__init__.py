"""Server of the Debug Adapter Protocol for editors (https://microsoft.github.io/debug-adapter-protocol)."""
