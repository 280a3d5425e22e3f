"""What a brain keeps from run to run: skills that were learnt, and episodes of what happened."""
