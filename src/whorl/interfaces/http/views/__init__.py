"""What is known of runs and workflows, as the models that go out."""
