"""What the desk keeps: the only writer of its rows."""
