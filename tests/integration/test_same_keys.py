"""What is sent again under its submission key, after a restore that lost it, gets the same keys."""

from orders.invariants import Ledgers
from orders.models import Order, Product, Reservation
from orders.submission import Customer, Line, place_order
from workers import cancel
from workers.client.submission import submit, submit_many
from workers.models import Alert, Journal, Process, Step
from workers.rules.rows import NewProcess
from workers.store.db import dialect


def keys(process: Process) -> list[str]:
    steps = Step.objects.filter(process=process).order_by("position")
    return list(steps.values_list("idempotency_key", flat=True))


def lose(process: Process) -> None:
    Journal.objects.filter(process=process).delete()
    process.delete()


def test_lost_process_gets_the_same_keys_again_and_a_second_use_gets_others():
    first = submit("toy_line", subject="Toy 1", input={}, submission_key="acme cart-3")
    cancel(first.pk, actor="acme", reason="another")
    second = submit("toy_line", subject="Toy 2", input={}, submission_key="acme cart-3")
    were = [keys(first), keys(second)]
    assert were[0] != were[1]
    assert (first.uid.version, second.uid.version) == (8, 8)

    lose(first)
    lose(second)
    again = submit("toy_line", subject="Toy 3", input={}, submission_key="acme cart-3")
    cancel(again.pk, actor="acme", reason="another")
    once_more = submit("toy_line", subject="Toy 4", input={}, submission_key="acme cart-3")

    assert [keys(again), keys(once_more)] == were


def test_other_keys_workflows_and_none_make_other_ids():
    texts = ["acme cart-3", "acme cart-4", None, None]
    made = submit_many("toy_line", [NewProcess("Toy", {}, submission_key=text) for text in texts])
    other = submit("toy_undoable", subject="Toy", input={}, submission_key="acme cart-3")

    assert [process.uid.version for process in made] == [8, 8, 7, 7]
    assert len({process.uid for process in [*made, other]}) == 5


def test_another_installation_makes_other_keys_of_the_same():
    first = submit("toy_line", subject="Toy 1", input={}, submission_key="cart-3")
    was = keys(first)
    lose(first)
    dialect.execute("DELETE FROM workers_installation", [])

    assert keys(submit("toy_line", subject="Toy 1", input={}, submission_key="cart-3")) != was


def test_order_that_was_lost_and_is_sent_again_is_not_charged_twice(wire, sandbox):
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    purchase = (Customer("Ann", "ann@example.org", "Street 1"), [Line("SKU-1", 2)])
    order, _ = place_order(*purchase, submission_key="cart-3", source="api", submitter="acme")
    wire.run_until_idle()
    assert Process.objects.get(workflow="fulfilment").state == "processed"
    was = keys(order.process)
    Reservation.objects.all().delete()
    order.lines.all().delete()
    Order.objects.all().delete()
    lose(order.process)

    again, _ = place_order(*purchase, submission_key="cart-3", source="api", submitter="acme")
    wire.run_until_idle()

    assert again.number != order.number
    assert keys(again.process) == was
    effects = Ledgers.read(sandbox.url).effects
    assert [len(effects[name]) for name in ("payment", "shipping", "billing")] == [1, 1, 1]
    # The service knows the key, of another number: what it did stands, and a person looks.
    assert Alert.objects.filter(process=again.process).exists()
    assert Step.objects.get(process=again.process, name="charge_payment").may_have_effect
