"""A process is killed at every point the code names, and the rest must heal."""
