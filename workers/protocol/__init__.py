"""Formats of messages, signatures and tokens.  Nothing here sends."""
