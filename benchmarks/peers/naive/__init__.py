"""What most teams write: a chain, and in each step a transaction that changes the order's row."""
