"""Commands that compare loops with each other."""
