"""What the command line takes, and what it says of the rest."""

import pytest

from benchmarks import options
from benchmarks.catalogue import CASES
from benchmarks.options import Options


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        options.parse(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_without_words_every_case_is_measured_three_times():
    assert options.parse([]) == Options(
        cases=tuple(CASES), database="postgresql", broker="rabbitmq", rounds=3
    )


def test_the_short_form_has_the_ways_in_which_orders_come():
    cases = (
        "slow overload beside paced starved beside-long rated outage stack sustained steady latency"
        " filled http apply submission keys lists"
    )
    assert options.parse(["--quick"]).cases == tuple(cases.split())


def test_all_words(tmp_path):
    words = ["--cases", "apply, http,apply", "--rounds", "5", "--orders", "70"]
    words += ["--on", "sqlite+redis"]
    words += ["--large", "--json", str(tmp_path / "a.json"), "--report", str(tmp_path / "new")]

    assert options.parse(words) == Options(
        cases=("apply", "http"),
        database="sqlite",
        broker="redis",
        rounds=5,
        orders=70,
        is_large=True,
        json=tmp_path / "a.json",
        report=tmp_path / "new",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cases", "apply,fast,furious"], "No case is called fast or furious. There are slow, "),
        (["--cases", ","], "No case is named. There are slow, "),
        (
            ["--on", "oracle+redis"],
            "'oracle+redis' is no pair. Give postgresql or sqlite, a +, and",
        ),
        (["--on", "sqlite"], "'sqlite' is no pair."),
        (["--rounds", "0"], "'0' is no number. Give a whole number from 1."),
        (["--orders", "many"], "'many' is no number. Give a whole number from 1."),
        (["--json", "/nowhere/at/all.json"], "/nowhere/at/all.json cannot be written."),
        (["--write-docs", "/nowhere.json"], "/nowhere.json is not there."),
        (["--large", "--quick"], "--large takes minutes: leave out --quick."),
        (["--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_what_is_wrong_is_said(words, said, capsys):
    assert said in refused(capsys, *words)


def test_a_report_cannot_go_into_a_file(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.touch()

    assert f"{taken} is a file. Name a folder" in refused(capsys, "--report", str(taken))


def test_the_list_names_every_case(capsys):
    with pytest.raises(SystemExit) as ended:
        options.parse(["--list"])

    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CASES)


def test_peers_are_left_out_where_others_are_named():
    chosen = [options.parse(["--peers", said]).peers for said in ("none", "dbos, dbos")]

    assert chosen == [(), ("dbos",)]


def test_sizes_follow_the_form_unless_orders_are_given():
    sizes = [
        options.parse(words).size(6000, 2000) for words in ([], ["--quick"], ["--orders", "40"])
    ]

    assert sizes == [6000, 2000, 40]
