"""The shop's public pages: parse, call one verb, render."""
