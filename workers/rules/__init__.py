"""The rules of the engine: pure decisions on rows in memory, without a database."""
