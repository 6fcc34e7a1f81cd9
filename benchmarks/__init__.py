"""Benchmarks: ours and what people would use instead, side by side in one run."""
