"""What the doctor looks at of the broker and of the workers, which this project wires."""

from sasproject.doctor import broker, queues, workers

__all__ = ["broker", "queues", "workers"]
