"""What a worker is: it drives runs, performs their tasks, and measures what they compute."""
