"""How people and programs start, watch and steer runs."""
