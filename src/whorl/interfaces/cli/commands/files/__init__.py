"""Commands that work with workflow files, and what is known without any."""
