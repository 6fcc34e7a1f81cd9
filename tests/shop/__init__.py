"""The shop's public pages."""
