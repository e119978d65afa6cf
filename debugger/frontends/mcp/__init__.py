"""Server of the Model Context Protocol for agents (https://modelcontextprotocol.io)."""
