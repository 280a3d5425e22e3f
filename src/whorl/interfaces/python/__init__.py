"""The Python interface: load or build a workflow, run it, watch it, steer it."""
