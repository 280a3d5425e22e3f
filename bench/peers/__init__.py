"""The programs of examples/python, written for LangGraph: the same limits, budgets and outputs."""
