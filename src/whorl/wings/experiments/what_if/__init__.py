"""The effect of another rule in recorded runs: facts, answers, and the sweep over rules."""
