"""Four steps in a row, of several agents, of one, or limited for each key; ten at once, lists."""

from collections.abc import Mapping

from benchmarks.shape import AT_ONCE
from workers.definitions.children import Children
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Json, StepSpec, Workflow, step


def _row_of(agent: str) -> tuple[StepSpec, ...]:
    return (
        step("first", agent),
        step("second", agent, after="first"),
        step("third", agent, after="second"),
        step("fourth", agent, after="third"),
    )


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
REMOTE = register_workflow(Workflow("bench_remote", 1, _row_of("bench.remote")))
UNKEYED = register_workflow(Workflow("bench_unkeyed", 1, _row_of("bench.first")))
KEYED = register_workflow(
    Workflow("bench_keyed", 1, _row_of("bench.keyed"), attributes={"customer": int})
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


def _items(given: Json, results: Mapping[str, Json]) -> list[Json]:
    return [{}] * given["count"]


LIST = register_workflow(
    Workflow(
        "bench_list", 1, (step("each", children=Children("bench_single", _items, at_once=AT_ONCE)),)
    )
)
LONG = register_workflow(
    Workflow("bench_long", 1, (step("only", "bench.remote", timeout_seconds=300),))
)
UNSAFE = register_workflow(
    Workflow("bench_unsafe", 1, (step("only", "bench.unsafe", timeout_seconds=10),))
)
