"""Webhooks that come in: signatures, taking them once, and their door."""
