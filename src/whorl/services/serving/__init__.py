"""What a server does by itself: it starts runs, looks after them and reports them."""
