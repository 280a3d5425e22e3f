"""What is read of runs: their results, costs, places and the text that is being written."""
