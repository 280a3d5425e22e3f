"""Actions, read by their types: control, variables and data, agents, code."""
