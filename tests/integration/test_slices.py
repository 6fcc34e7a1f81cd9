"""Tables are read in ranges of keys that leave no key out."""

import itertools

from workers.client.submission import submit
from workers.models import Process, Step
from workers.store.db import slices


def test_slices_are_bounded_by_rows_though_a_sequence_jumped():
    for pk in (1, 2, 999_999_999_999):
        process = submit("toy_line", subject="Toy", input={})
        Step.objects.filter(process=process).delete()
        Process.objects.filter(pk=process.pk).update(id=pk)

    assert slices.slices("workers_process", "id", size=2) == [
        (0, 999_999_999_998),
        (999_999_999_999, slices.LAST),
    ]


def test_slices_leave_no_key_out():
    for number in range(7):
        submit("toy_line", subject=f"Toy {number}", input={})
    ids = list(Process.objects.order_by("pk").values_list("pk", flat=True))

    found = slices.slices("workers_process", "id", size=2)

    assert found[0][0] == 0
    assert found[-1][1] == 2**63 - 1
    assert all(end + 1 == begin for (_, end), (begin, _) in itertools.pairwise(found))
    assert all(sum(first <= one <= last for first, last in found) == 1 for one in ids)
    assert len(found) == 4
