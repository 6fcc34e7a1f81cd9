"""The versions of Python, Django and Celery that the engine is tried with: `make matrix`."""

#: Environment variables of the foreign project's test: the interpreter, and requirements for pip
#: beside the wheel.
PYTHON, PINS = "MATRIX_PYTHON", "MATRIX_PINS"
