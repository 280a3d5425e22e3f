"""The evaluator: turns a tree into nested Python closures once, and runs those many times."""
