"""Keys, child groups and schedules together, under kills: `python -m tests.shape --seed 1`."""
