"""Commands that look after a project, its servers and its store."""
