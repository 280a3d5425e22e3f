"""Who does the work: models, HTTP, commands, functions."""
