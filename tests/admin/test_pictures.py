"""The pictures of a process: from journal rows to bars, from steps to boxes.  No database."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.factories import step_in_memory
from workers.desk.admin.pictures import attempts, chart, graph, plot
from workers.desk.admin.pictures.chart import Chart
from workers.models import Journal, Process, Step

T = datetime(2026, 11, 26, 10, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T + timedelta(seconds=seconds)


def process(state: str = "processing", **columns: Any) -> Process:
    return Process(
        pk=1, subject="Order 1", workflow="w", version=1, state=state, created_at=T, **columns
    )


def step(pk: int, name: str, state: str = "processed", **columns: Any) -> Step:
    return step_in_memory(pk=pk, name=name, position=pk, state=state, agent=f"{name}.do", **columns)


def row(seconds: float, event: str, step_id: int | None = None, **columns: Any) -> Journal:
    return Journal(
        process_id=1,
        step_id=step_id,
        event=event,
        at=at(seconds),
        **{"actor": "scheduler@a:1", **columns},
    )


def claimed(seconds: float, step_id: int, attempt: int = 1, before: str = "waiting") -> Journal:
    return row(
        seconds, "claimed", step_id, before=before, after="processing", attempt=attempt,
        detail={"agent": "pay"},
    )  # fmt: skip


def ended(
    seconds: float,
    event: str,
    step_id: int,
    *,
    started: float | None,
    attempt: int = 1,
    after: str = "processed",
    **detail: Any,
) -> Journal:
    facts = {}
    if started is not None:
        facts = {"started_at": at(started).isoformat(), "complete_by": at(started + 30).isoformat()}
    return row(
        seconds, event, step_id, before="processing", after=after, attempt=attempt,
        detail={**facts, **detail},
    )  # fmt: skip


def history(rows: list[Journal], one: Step, of: Process | None = None) -> attempts.StepHistory:
    return attempts.of_steps(of or process(), [one], rows)[0]


# ---------------------------------------------------------------- attempts


def test_a_retry_waits_from_the_end_of_the_attempt_before():
    rows = [
        claimed(1, 1),
        ended(4, "failed", 1, started=2, after="pending", fault={"kind": "transient", "code": "x"}),
        claimed(9, 1, attempt=2, before="pending"),
        ended(12, "processed", 1, started=10, attempt=2),
    ]
    found = history(rows, step(1, "pay", after=["stock"]))
    first, second = found.attempts
    assert (first.ready_at, first.called_at, first.ended_at) == (at(1), at(2), at(4))
    assert (second.ready_at, second.called_at, second.ended_at) == (at(4), at(10), at(12))
    assert (first.tone, second.tone) == ("bad", "good")
    assert "transient" in first.fault or "x" in first.fault


def test_a_step_with_nothing_before_it_waits_from_the_submission_on():
    rows = [claimed(3, 1, before="pending"), ended(5, "processed", 1, started=4)]
    assert history(rows, step(1, "stock")).attempts[0].ready_at == at(0)
    # An undo step has nothing before it either, and was not there.
    undo = step(1, "release", undoes_id=7)
    assert history(rows, undo).attempts[0].ready_at == at(3)


def test_a_live_attempt_is_told_by_the_step_s_own_row():
    now = step(1, "pay", "processing", attempt=1, started_at=at(2), complete_by=at(32))
    (live,) = history([claimed(1, 1)], now).attempts
    assert (live.number, live.called_at, live.due_by, live.ended_at) == (
        1, at(2), at(32), None,
    )  # fmt: skip
    assert live.tone == "live"


def test_a_step_that_waits_for_its_next_attempt_has_a_bar_without_a_number():
    rows = [claimed(1, 1), ended(2, "parked", 1, started=1.5, after="pending")]
    first, waiting = history(rows, step(1, "pay", "pending", not_before=at(60))).attempts
    assert first.tone == "odd"
    assert (waiting.number, waiting.ready_at, waiting.ended_at) == (None, at(2), None)


def test_the_wait_for_an_answer_is_apart_from_the_call():
    rows = [
        claimed(1, 1),
        row(3, "deferred", 1, attempt=1),
        ended(90, "processed", 1, started=None, answered="callback"),
    ]
    (attempt,) = history(rows, step(1, "ask")).attempts
    assert (attempt.deferred_at, attempt.ended_at) == (at(3), at(90))
    assert attempt.called_at == at(3)


def test_an_attempt_whose_claim_was_not_read_begins_where_its_end_says():
    end = ended(9, "processed", 1, started=8, claimed_at=at(7).isoformat())
    (attempt,) = history([end], step(1, "pay")).attempts
    assert (attempt.ready_at, attempt.called_at) == (at(7), at(8))


def test_acts_of_operators_and_what_is_odd_are_marks():
    rows = [
        claimed(1, 1),
        row(20, "stale_reply", 1),
        row(21, "reply_filed", 1),
        row(22, "hurried", 1, actor="operator:ann", detail={"reason": "now"}),
    ]
    stale, hurried = history(rows, step(1, "pay", "processing", started_at=at(1))).marks
    assert (stale.tone, stale.is_by_person) == ("odd", False)
    assert (hurried.tone, hurried.is_by_person, hurried.reason) == ("person", True, "now")


@pytest.mark.parametrize("detail", [[], "text", {"started_at": 5, "complete_by": "?"}, None])
def test_a_detail_of_another_make_breaks_nothing(detail):
    end = row(2, "processed", 1, before="processing", after="processed", detail=detail)
    (attempt,) = history([claimed(1, 1), end], step(1, "pay")).attempts
    assert (attempt.called_at, attempt.ended_at) == (None, at(2))


# ---------------------------------------------------------------- the axis


def test_a_gap_over_thirty_seconds_is_folded_and_a_shorter_one_is_not():
    scale = plot.axis_of([at(0), at(30), at(61)])
    assert [fold.seconds for fold in scale.folds] == [31]
    assert scale.drawn_seconds == 30


def test_a_long_call_is_not_folded():
    assert plot.axis_of([at(0), at(300)], busy=[(at(0), at(300))]).folds == ()


def test_what_is_to_come_is_folded_soon():
    scale = plot.axis_of([at(0), at(5), at(25)], now=at(5))
    assert [fold.seconds for fold in scale.folds] == [20]


def test_instants_keep_their_order_and_stay_within_the_picture():
    instants = [at(second) for second in (0, 0.01, 3, 100, 101, 4000, 900_000)]
    scale = plot.axis_of(instants)
    places = [scale.x(instant) for instant in instants]
    assert places == sorted(places)
    assert places[0] == plot.MARGIN
    assert places[-1] == pytest.approx(100 - plot.MARGIN)
    assert (scale.x(at(-5)), scale.x(at(10**7))) == (places[0], places[-1])


def test_many_folds_leave_room_for_what_is_drawn():
    scale = plot.axis_of([at(minute * 60 + tail) for minute in range(50) for tail in (0, 1)])
    assert len(scale.folds) == 49
    assert sum(fold.width for fold in scale.folds) == pytest.approx(plot.FOLDS_ROOM)


def test_labels_never_lie_on_each_other():
    ticks = plot.axis_of([at(second / 10) for second in range(40)]).ticks()
    gaps = [right.x - left.x for left, right in itertools.pairwise(ticks)]
    assert min(gaps) >= plot.LABEL_ROOM
    assert (ticks[0].anchor, ticks[-1].anchor) == ("start", "end")


def test_a_single_instant_is_an_axis():
    assert plot.axis_of([T]).x(T) == plot.MARGIN
    with pytest.raises(ValueError, match="must have an instant"):
        plot.axis_of([])


# ---------------------------------------------------------------- the chart


def retried() -> Chart:
    rows = [
        row(0, "submitted", after="pending"),
        claimed(1, 1),
        ended(4, "failed", 1, started=2, after="pending", fault={"kind": "transient"}),
        row(50, "resubmitted", actor="operator:ann", detail={"reason": "it is back"}),
        claimed(60, 1, attempt=2, before="pending"),
        ended(64, "processed", 1, started=62, attempt=2),
        row(64, "processed", after="processed"),
    ]
    return chart.make(process("processed"), [step(1, "pay", after=["x"])], rows, at(64))


def test_waiting_and_call_are_bars_of_their_own():
    _whole, pay = retried().rows
    assert [(bar.kind, bar.tone) for bar in pay.bars] == [
        ("waiting", "plain"),
        ("call", "bad"),
        ("waiting", "plain"),
        ("call", "good"),
    ]
    assert [sign.kind for sign in pay.signs] == ["failed"]
    assert "attempt 2: call 2.00 s" in pay.bars[3].title
    assert pay.summary.startswith("pay: 2 attempts")


def test_an_operator_s_act_is_a_mark_with_name_and_reason():
    whole, _pay = retried().rows
    mark = next(sign for sign in whole.signs if sign.tone == "person")
    assert mark.title.endswith("ann · it is back")


def test_the_table_says_what_the_picture_says():
    lines = retried().lines
    assert [line.at for line in lines] == sorted(line.at for line in lines)
    assert [line.what for line in lines if line.step == "pay"] == [
        "attempt 1: Failed: one failure counted",
        "attempt 2: Done",
    ]
    assert [(line.waited, line.took) for line in lines if line.step == "pay"] == [
        ("1.00 s", "2.00 s"),
        ("58 s", "2.00 s"),
    ]


def test_a_deadline_is_drawn_where_it_still_counts_or_was_missed():
    def deadlines(one: Step, *rows: Journal) -> int:
        drawn = chart.make(process(), [one], [claimed(1, 1), *rows], at(40))
        return sum(sign.kind == "deadline" for sign in drawn.rows[0].signs)

    live = step(1, "pay", "processing", started_at=at(20), complete_by=at(50))
    assert deadlines(live) == 1
    assert deadlines(step(1, "pay"), ended(3, "processed", 1, started=2)) == 0
    late = ended(33, "expired", 1, started=2, after="pending")
    assert deadlines(step(1, "pay", "pending"), late) == 1


def test_the_process_s_deadline_goes_through_all_rows():
    dated = process(deadline_at=at(7200))
    drawn = chart.make(dated, [step(1, "pay")], [claimed(1, 1)], at(10))
    assert drawn.deadline is not None
    assert "12:00:00 UTC" in drawn.deadline.title
    assert drawn.now is not None
    over = process("processed", deadline_at=at(7200))
    finished = chart.make(
        over, [step(1, "pay")], [claimed(1, 1), ended(3, "processed", 1, started=2)], at(10**6)
    )
    assert (finished.deadline, finished.now) == (None, None)


def test_beyond_its_rows_a_chart_keeps_what_was_at_work_last():
    count = chart.ROWS + 5
    steps = [step(number, f"s{number}") for number in range(1, count + 1)]
    rows = [
        one
        for number in range(1, count + 1)
        for one in (claimed(number, number), ended(number + 0.5, "processed", number, started=None))
    ]
    drawn = chart.make(process(), steps, rows, at(count + 1), is_cut=True)
    assert (drawn.shown, drawn.left_out) == (chart.ROWS, 5)
    assert drawn.rows[0].name == "s6"
    assert drawn.since == rows[0].at


def test_steps_that_have_not_begun_have_no_row():
    assert chart.make(process(), [step(1, "pay", "waiting")], [], at(5)).is_empty


def test_of_folds_that_are_near_each_other_the_longest_is_labelled():
    rows = [
        row(0, "submitted", after="pending"),
        row(40, "paused", actor="operator:ann"),
        row(4000, "unpaused", actor="operator:ann"),
        row(4001, "processed", after="processed"),
    ]
    drawn = chart.make(process("processed"), [], rows, at(4001))
    assert len(drawn.bands) == 2
    assert "1 h" in [label.text for label in drawn.fold_labels]


# ---------------------------------------------------------------- the graph


def boxes(*steps: Step) -> dict[str, graph.Node]:
    return {node.name: node for node in graph.make(steps).nodes}


def test_a_step_stands_below_those_that_it_waits_for():
    drawn = graph.make(
        [
            step(1, "a"),
            step(2, "b", after=["a"]),
            step(3, "c", after=["a"]),
            step(4, "d", after=["b", "c"]),
        ]
    )
    y = {node.name: node.y for node in drawn.nodes}
    assert y["a"] < y["b"] == y["c"] < y["d"]
    assert {edge.title for edge in drawn.edges} == {"a → b", "a → c", "b → d", "c → d"}
    left, right = sorted((node for node in drawn.nodes if node.name in "bc"), key=lambda n: n.x)
    assert left.x + left.width < right.x
    assert right.x + right.width < drawn.width


def test_what_undoes_a_step_stands_with_it_made_or_only_declared():
    done = step(1, "pay", undo={"name": "refund", "agent": "payment.refund"})
    declared = boxes(done)["refund"]
    assert (declared.is_made, declared.agent) == (False, "payment.refund")

    made = boxes(done, step(2, "refund", "processing", undoes_id=1))
    assert made["refund"].is_made
    assert made["refund"].state == "processing"
    assert made["pay"].y < made["refund"].y
    edges = graph.make([done]).edges
    assert [(edge.is_undo, edge.title) for edge in edges] == [(True, "pay ⤺ refund")]


def test_two_branches_that_can_be_undone_have_room_on_a_phone():
    undo = {"name": "undo", "agent": "x"}
    drawn = graph.make([step(1, "a", undo=undo), step(2, "b", undo=undo)])
    assert drawn.width <= 326


def test_an_edge_passes_a_layer_beside_its_boxes():
    drawn = graph.make([step(1, "a"), step(2, "b", after=["a"]), step(3, "c", after=["a", "b"])])
    long = next(edge for edge in drawn.edges if edge.title == "a → c")
    box = next(node for node in drawn.nodes if node.name == "b")
    # The way straight down through the layer of b.
    x = float(long.path.split("V")[1].split("C")[1].split()[-2])
    assert not box.x <= x <= box.x + box.width


@pytest.mark.parametrize("current", [None, "s500", "s999", "gone"])
def test_beyond_its_boxes_a_graph_shows_what_goes_on_and_says_so(current):
    steps = [step(n, f"s{n}", after=[f"s{n - 1}"] if n else []) for n in range(1000)]
    drawn = graph.make(steps, current)
    assert (len(drawn.nodes), drawn.left_out) == (graph.NODES, 1000 - graph.NODES)
    assert (current or "s0") in {node.name for node in drawn.nodes} or current == "gone"


def test_names_that_have_no_room_are_cut():
    assert boxes(step(1, "x" * 60))["x" * 60].label == "x" * 17 + "…"


def test_graph_ignores_dependency_on_missing_step_or_itself():
    drawn = graph.make([step(1, "a", after=["gone"]), step(2, "b", after=["b"])])
    assert len(drawn.nodes) == 2
    assert drawn.edges == ()
