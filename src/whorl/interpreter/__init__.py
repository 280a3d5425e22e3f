"""What a workflow does: pure, synchronous, deterministic; events in, commands out."""

# Raised when the machine does something else with the same events; stored with each run.
BEHAVIOUR = 1
