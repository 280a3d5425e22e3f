"""What belongs to a project around its definitions: templates, settings."""
