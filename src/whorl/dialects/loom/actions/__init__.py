"""Actions that are more than one node, or code: agents, JavaScript, maps of XML."""
