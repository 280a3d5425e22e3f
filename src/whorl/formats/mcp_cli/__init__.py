"""Workflows of mcp-cli: steps with needs, and loops whose condition a model judges."""
