"""Lock, load and save the rows of whole processes."""
