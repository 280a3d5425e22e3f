"""What a server does beside what people ask of it: it starts, looks after and tells of runs."""
