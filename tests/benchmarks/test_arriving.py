"""Orders one by one, and rates: what is asked for, and what is made of the instants."""

from datetime import timedelta

import pytest

from benchmarks.cases import arriving
from benchmarks.ours import limited, pacing
from tests.benchmarks.results import found
from workers.client.submission import submit
from workers.models import Process, Step


@pytest.mark.django_db
def test_a_gap_lasts_until_the_end_while_an_order_is_open():
    made = [submit("toy_line", subject=str(n), input={}) for n in range(3)]
    began = made[0].created_at
    for second, process in enumerate(made):
        at = began + timedelta(seconds=second)
        Process.objects.filter(pk=process.pk).update(created_at=at)
    Step.objects.filter(process=made[1]).update(finished_at=began + timedelta(seconds=3))
    ended = began + timedelta(seconds=4)
    Process.objects.filter(pk=made[1].pk).update(state="processed", finished_at=ended)
    taken = began.timestamp() + 2

    done = pacing._figures(1, taken, taken + 7)

    assert (done["orders"], done["ended"], done["ended_in_time"]) == (2, 1, 0)
    assert done["gap_s"] == pytest.approx(6)


def test_a_rate_is_judged_by_its_worst_and_its_busiest_window():
    even = [n / 10 for n in range(300)]

    assert limited.figures_of(even, 10, 30)["worst_share"] == pytest.approx(1, abs=0.02)
    done = limited.figures_of([at + 4 * (at >= 10) for at in even], 10, 30)
    assert (done["worst_share"], done["behind_s"]) == pytest.approx((0.6, 4), abs=0.2)
    assert limited.figures_of([*even, 5.0], 10, 30)["most_share"] == pytest.approx(1.1)


def test_what_must_never_be_counts_by_its_worst_round():
    rounds = [{"ours": {"gap_s": gap, "p50_s": gap}} for gap in (1.0, 7.0, 2.0)]

    worst = arriving._medians([*rounds, {"ours": None}], "ours", ("gap_s", "p50_s"))

    assert worst == {"gap_s": 7, "p50_s": 2}
    missed = [one for one in found(paced={"worst": worst})["bars"] if one["figure"] == 7]
    assert [one["verdict"] for one in missed] == ["missed"]
