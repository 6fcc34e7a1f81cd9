"""The demo without a person: orders, kills at seeded points, and a wait until all have ended."""

from collections.abc import Callable
from functools import partial

from sasproject.demo import addresses, script
from sasproject.demo.chaos import WITHOUT_BROKER
from sasproject.demo.ending import DemoStopped
from sasproject.demo.progress import Progress
from sasproject.demo.run import Run

#: How long a kill waits for the worst moment, and how often it checks.
WORST_MOMENT_SECONDS = 3.0
CLOSELY_SECONDS = 0.03
#: How long a kill waits for a process that is down.
VICTIM_SECONDS = 15.0
#: Time for the last orders with and without faults: (at least, per order).
PATIENCE_SECONDS = (15.0, 0.25)
LAST_PATIENCE_SECONDS = (105.0, 1.0)
#: Longer than any wait of a healthy run; the generator has a pace but no time limit.
LONG = 24 * 3600.0


def play(run: Run, orders: int) -> None:
    """Place the orders, kill processes by the script, and wait until every order has ended."""
    progress = Progress(run.voice, run.began)
    progress.begin(addresses.of(run.stack))

    def show() -> None:
        if run.ending.interrupts:
            raise DemoStopped
        if progress.is_due():
            run.review()
            progress.show(run.look())

    run.faults.switch_on()
    run.generator.start()
    outage = round(orders * script.OUTAGE_AFTER)
    for kill in script.kills(run.seed, orders, list(run.chaos.roles())):
        if outage and kill.after > outage:
            _simulate_outage(run, outage, show)
            outage = 0
        run.until(partial(_has_placed, run, kill.after), LONG, show)
        run.until(run.is_charging, WORST_MOMENT_SECONDS, show, every=CLOSELY_SECONDS)
        if run.until(partial(run.chaos.kill, kill.role), VICTIM_SECONDS, show):
            why = f": {WITHOUT_BROKER}" if kill.role == "broker" else ""
            run.voice.tell(f"kill -9 {kill.role}, after {len(run.generator.accepted)} orders{why}")
    if outage:
        _simulate_outage(run, outage, show)
    run.until(lambda: run.generator.is_finished, LONG, show)
    if not run.until(run.is_settled, _patience(PATIENCE_SECONDS, orders), show):
        run.voice.tell("faults off for the last orders")
        run.faults.clear()
        run.until(run.is_settled, _patience(LAST_PATIENCE_SECONDS, orders), show)
    progress.show(run.look())


def _simulate_outage(run: Run, after: int, show: Callable[[], None]) -> None:
    """Take the payment service down for a while: its steps are parked and count no failure."""
    run.until(partial(_has_placed, run, after), LONG, show)
    run.faults.take_payment_down()
    run.voice.tell(f"payment is down, after {len(run.generator.accepted)} orders")
    run.until(lambda: False, script.OUTAGE_SECONDS, show)
    run.faults.bring_payment_up()
    run.voice.tell("payment is up again")


def _patience(seconds: tuple[float, float], orders: int) -> float:
    at_least, per_order = seconds
    return max(at_least, per_order * orders)


def _has_placed(run: Run, after: int) -> bool:
    return len(run.generator.accepted) >= after or run.generator.is_finished
