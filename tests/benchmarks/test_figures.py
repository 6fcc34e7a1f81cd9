"""Medians, percentiles and ratios, in exact numbers."""

import pytest

from benchmarks import figures
from benchmarks.bench import medians, rounded_all


def test_the_median_of_an_even_number_lies_between():
    assert [figures.median([]), figures.median([3, 1, 2]), figures.median([4, 1, 2, 3])] == [
        None,
        2,
        2.5,
    ]


def test_percentiles_are_values_that_were_measured():
    assert figures.spread(list(range(1, 101))) == {"p50": 50, "p95": 95, "p99": 99}
    assert figures.spread([7]) == {"p50": 7, "p95": 7, "p99": 7}
    assert figures.spread([30, 10, 20]) == {"p50": 20, "p95": 30, "p99": 30}


def test_ratios_are_taken_inside_each_round():
    # The medians of the sides are 100 and 20; they are of different rounds.
    rounds = [
        {"ours": 100, "peer": 10},
        {"ours": 60, "peer": 20},
        {"ours": 160, "peer": 40},
        {"ours": 900, "peer": None},
        {"ours": None, "peer": 1},
        {"ours": 900, "peer": 0},
    ]

    assert figures.ratio(rounds, "ours", "peer") == 4
    assert figures.ratio(rounds, "ours", "nobody") is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, None),
        (0, 0),
        (0.12349, 0.123),
        (2.345, 2.35),
        (999.6, 1000),
        (1234.5, 1234),
        (12345.6, 12346),
    ],
)
def test_no_more_digits_than_were_measured(value, said):
    assert figures.rounded(value) == said


def test_medians_leave_out_the_rounds_without_a_figure():
    rounds = [{"a": {"x": 1.0}}, {"a": None}, {"a": {"x": 5.0}}, {"a": {"x": 2.0}}]

    assert medians(rounds, "a", "x") == 2
    assert medians([{"a": None}], "a", "x") is None


def test_tables_are_rounded_to_the_last_leaf():
    assert rounded_all({"a": [1.23456, 2], "b": {"c": 12.3456, "d": "text"}, "e": None}) == {
        "a": [1.23, 2],
        "b": {"c": 12.3, "d": "text"},
        "e": None,
    }


@pytest.mark.parametrize(
    ("ends", "most"),
    [
        ([], 0),
        ([10.0], 1),
        # One begins when the other ends: never two at once.
        ([10.0, 13.0], 1),
        ([10.0, 11.0, 12.9, 20.0], 3),
        ([10.0, 10.0, 12.0, 14.0], 3),
    ],
)
def test_calls_at_once_are_those_whose_times_overlap(ends, most):
    assert figures.at_once(ends, 3) == most
