"""Four steps in a row, the same with calls of a service, ten at once, and some alone."""

from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Workflow, step

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
REMOTE = register_workflow(
    Workflow(
        "bench_remote",
        1,
        (
            step("first", "bench.remote"),
            step("second", "bench.remote", after="first"),
            step("third", "bench.remote", after="second"),
            step("fourth", "bench.remote", after="third"),
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
SINGLE = register_workflow(Workflow("bench_single", 1, (step("only", "bench.first"),)))
LONG = register_workflow(
    Workflow("bench_long", 1, (step("only", "bench.remote", timeout_seconds=300),))
)
UNSAFE = register_workflow(
    Workflow("bench_unsafe", 1, (step("only", "bench.unsafe", timeout_seconds=10),))
)
