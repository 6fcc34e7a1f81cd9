"""Send and receive requests, replies and wake-ups through the broker."""
