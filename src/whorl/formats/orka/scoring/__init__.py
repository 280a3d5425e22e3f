"""How loops score their iterations: what is read of a file, and what is found when it runs."""
