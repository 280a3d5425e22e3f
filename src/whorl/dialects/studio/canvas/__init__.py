"""The canvas as it is drawn: nodes, edges, and the stretches that loops and iterators span."""
