"""Steps that are tasks: their kinds, the types of their answers, and commands for the shell."""
