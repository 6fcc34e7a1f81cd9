"""The desk's operations behind its pages, commands and duties."""
