"""What travels: formats of messages, signatures and tokens.  Nothing here sends."""
