"""The parts that do the work: models, HTTP, commands, functions."""
