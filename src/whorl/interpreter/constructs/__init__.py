"""What each construct does while it is under way, and how a run begins and ends."""
