"""What another rule would have done in recorded runs: facts, answers, the sweep over rules."""
