"""The Model Context Protocol: a session as an agent drives it (https://modelcontextprotocol.io)."""
