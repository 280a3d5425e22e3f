"""What remains of an experiment that runs: bounds, progress, what is missing."""
