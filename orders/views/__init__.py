"""The shop's public pages: parse, call one function, render."""
