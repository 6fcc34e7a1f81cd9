"""Sending and receiving: requests, replies and wake-ups through the broker."""
