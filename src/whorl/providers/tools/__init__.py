"""Tools for models and steps: those of MCP servers, and the operator's own tasks."""
