"""The schedule: one seed, one sequence of strikes."""

from itertools import pairwise

import pytest

from tests.chaos.faults import CATALOGUE
from tests.chaos.schedule import Rhythm, plan

RHYTHMS = [fault.rhythm() for fault in CATALOGUE.values()]


def test_the_same_seed_makes_the_same_schedule():
    assert plan(7, 300, RHYTHMS) == plan(7, 300, RHYTHMS)
    assert plan(7, 300, RHYTHMS) != plan(8, 300, RHYTHMS)


def test_a_strike_draws_the_same_choices_every_time():
    first, second = plan(7, 300, RHYTHMS)[:2]
    assert first.random().random() == first.random().random()
    assert first.random().random() != second.random().random()


def test_a_fault_that_is_left_out_moves_none_of_the_others():
    left_out = RHYTHMS[0].fault
    fewer = plan(7, 300, RHYTHMS[1:])
    assert fewer == [strike for strike in plan(7, 300, RHYTHMS) if strike.fault != left_out]


@pytest.mark.parametrize("seconds", [20.0, 60.0, 600.0])
@pytest.mark.parametrize("seed", range(20))
def test_every_fault_strikes_and_none_after_the_end(seed, seconds):
    strikes = plan(seed, seconds, RHYTHMS)
    assert {strike.fault for strike in strikes} == set(CATALOGUE)
    assert all(0 <= strike.at < seconds for strike in strikes)
    assert [strike.at for strike in strikes] == sorted(strike.at for strike in strikes)


def test_faults_of_one_rhythm_strike_at_times_of_their_own():
    strikes = plan(7, 1000, [Rhythm("lose", (3, 5)), Rhythm("reorder", (3, 5))])
    first, second = ({s.at for s in strikes if s.fault == name} for name in ("lose", "reorder"))
    assert first.isdisjoint(second)


def test_longer_pauses_mean_fewer_strikes_that_last_as_long():
    rhythm = Rhythm("freeze", (3, 5), (10, 12))
    assert rhythm.stretched(2) == Rhythm("freeze", (6, 10), (10, 12))
    assert len(plan(7, 1000, [rhythm.stretched(10)])) < len(plan(7, 1000, [rhythm])) / 2


def test_a_fault_keeps_its_rhythm_and_does_not_overlap_with_itself():
    rhythm = Rhythm("freeze", (3, 5), (10, 12))
    strikes = plan(7, 1000, [rhythm])
    assert len(strikes) > 50
    assert all(10 <= strike.lasts <= 12 for strike in strikes)
    pauses = [after.at - before.at - before.lasts for before, after in pairwise(strikes)]
    assert all(2.99 <= pause <= 5.01 for pause in pauses)
