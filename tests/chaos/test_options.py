"""Bad input on the command line: named, with its problem and the remedy, before anything starts."""

from pathlib import Path

import pytest

from tests.chaos.doors import DOORS
from tests.chaos.faults import CATALOGUE, USUAL
from tests.chaos.options import MANY_PAUSES, parse

SCENARIOS = {"n1": "kills"}


def test_nothing_said():
    options = parse([], SCENARIOS)
    assert (options.pair, options.faults, options.doors) == (
        "postgresql+rabbitmq",
        USUAL,
        tuple(DOORS),
    )
    assert (options.scenario, options.is_chosen, options.keep) == (None, False, False)


def test_everything_said():
    words = "--seed 7 --seconds 60 --orders 9 --on sqlite+redis --faults kill,freeze,kill"
    more = "--doors http --scenario n1 --report there --heal-seconds 5 --keep"
    options = parse([*words.split(), *more.split()], SCENARIOS)
    assert (options.seed, options.seconds, options.orders) == (7, 60.0, 9)
    assert (options.pair, options.faults, options.doors) == (
        "sqlite+redis",
        ("kill", "freeze"),
        ("http",),
    )
    assert (options.scenario, options.report) == ("n1", Path("there"))
    assert (options.heal_seconds, options.is_chosen, options.keep) == (5.0, True, True)


def test_without_a_seed_there_is_a_new_one_each_time():
    assert len({parse([], SCENARIOS).seed for _ in range(20)}) > 1


def test_all_faults_have_longer_pauses_unless_told():
    found = parse(["--faults", "all"], SCENARIOS)
    assert (found.faults, found.pauses) == (tuple(CATALOGUE), MANY_PAUSES)
    assert parse(["--faults", "all", "--pauses", "2"], SCENARIOS).pauses == 2.0
    assert parse(["--faults", "kill"], SCENARIOS).pauses == 1.0


def test_files_carry_no_submissions():
    assert "queue" not in parse(["--on", "sqlite+filesystem"], SCENARIOS).doors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seconds", "0"], "'0' is no time; give 1 to 86400 seconds"),
        (["--seconds", "soon"], "'soon' is no time"),
        (["--seconds", "nan"], "'nan' is no time"),
        (["--orders", "-1"], "'-1' is no number of orders; give 1 to 1000000"),
        (["--orders", "1.5"], "'1.5' is no number of orders"),
        (["--pauses", "0"], "'0' is no factor; give 0.1 to 100"),
        (["--on", "postgresql"], "'postgresql' is no pair; give one of postgresql, sqlite"),
        (["--on", "oracle+rabbitmq"], "'oracle+rabbitmq' is no pair"),
        (["--faults", "kill,earthquake"], "'earthquake' is no fault; choose from kill,"),
        (["--faults", ""], "'' is no fault"),
        (["--doors", "window"], "'window' is no door; choose from direct, http, queue"),
        (["--scenario", "n99"], "invalid choice: 'n99'"),
        (["--seed", "x"], "invalid int value: 'x'"),
        (["--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_what_is_wrong_is_said(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(words, SCENARIOS)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_list_names_every_fault_and_scenario(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["--list"], SCENARIOS)
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines if line.startswith("  ")} == {*CATALOGUE, "n1"}
