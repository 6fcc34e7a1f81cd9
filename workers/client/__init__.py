"""What an application calls: submit a process, steer it, answer its steps, read its progress."""
