"""The database itself: dialects, kept plans, transactions, writes of many rows."""
