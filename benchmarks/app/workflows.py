"""Four steps in a row, the same with slow agents, and ten at once."""

from workers.registry import register_workflow
from workers.workflow import Workflow, step

LINE = register_workflow(
    Workflow(
        "bench_line",
        1,
        (
            step("first", "bench.first"),
            step("second", "bench.second", after="first"),
            step("third", "bench.third", after="second"),
            step("fourth", "bench.fourth", after="third"),
        ),
    )
)
SLOW = register_workflow(
    Workflow(
        "bench_slow",
        1,
        (
            step("first", "bench.slow"),
            step("second", "bench.slow", after="first"),
            step("third", "bench.slow", after="second"),
            step("fourth", "bench.slow", after="third"),
        ),
    )
)
FAN = register_workflow(
    Workflow(
        "bench_fan",
        1,
        (
            step("begin", "bench.first"),
            *(step(f"branch_{n}", "bench.second", after="begin") for n in range(10)),
            step("join", "bench.third", after=tuple(f"branch_{n}" for n in range(10))),
        ),
    )
)
