"""What is done with workflow files before they run: they are edited, taken over and checked."""
