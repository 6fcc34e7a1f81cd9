"""What is measured of this engine, each in a process of its own."""
