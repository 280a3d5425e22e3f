"""What comes of the public files of other systems."""
