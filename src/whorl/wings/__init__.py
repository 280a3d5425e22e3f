"""What may be taken off as a folder: each has its service, commands, routes, words and tables."""
