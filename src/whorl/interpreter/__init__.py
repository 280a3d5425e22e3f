"""What a workflow does: pure, synchronous, deterministic; events in, commands out."""
