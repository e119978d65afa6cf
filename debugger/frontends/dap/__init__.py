"""The Debug Adapter Protocol: a session as editors drive it (https://microsoft.github.io/debug-adapter-protocol)."""
