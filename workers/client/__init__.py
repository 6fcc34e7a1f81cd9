"""The engine's API: submit a process, steer it, answer its steps, read its progress."""
