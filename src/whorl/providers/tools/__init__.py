"""Tools that models and steps may use: those of MCP servers, and the operator's own tasks."""
