"""A workflow without orders: shows that the engine needs none."""
