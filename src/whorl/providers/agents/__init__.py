"""Agent command lines as tasks: one file for each program, one way to run them all."""
