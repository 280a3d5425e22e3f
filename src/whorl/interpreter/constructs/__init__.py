"""What each construct does while it runs, and how a run begins and ends."""
