"""Graph files: nodes with typed ports, edges between handles, and loops that hold a workflow."""
