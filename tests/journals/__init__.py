"""Journals of runs, as each format of the journal wrote them: every later version replays them."""
