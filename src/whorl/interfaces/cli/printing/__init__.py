"""What commands print, in lines."""
