"""The functions of Logic Apps expressions, one table per family."""
