"""The dialect of orchestrators and agents, whose loops score their work and learn from it."""
