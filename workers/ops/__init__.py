"""What is looked at: the doctor's probes, the invariants, the figures, the checks of a deployment.

A Django app beside the engine, without tables: it reads rows and changes none.
"""
