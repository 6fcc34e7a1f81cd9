"""The desk's rows: only this package writes them."""
