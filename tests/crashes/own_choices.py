"""What operators choose for themselves: a time zone, keys, saved views."""

from django.contrib.auth import get_user_model

from tests.crashes.operating import _admin
from tests.crashes.scenario import Scenario, nothing
from workers.desk.models import Preferences, SavedView
from workers.desk.store import preferences, saved_views
from workers.testing import Aftermath, Wire


def _choose_zone() -> None:
    preferences.set_time_zone(get_user_model().objects.get().pk, "Asia/Tokyo")


def _zone_chosen(after: Aftermath) -> None:
    assert Preferences.objects.get().time_zone == "Asia/Tokyo"
    after.assert_same_journal(may_add=())


def _switch_keys() -> None:
    preferences.set_keys(get_user_model().objects.get().pk, is_on=False)


def _keys_off(after: Aftermath) -> None:
    assert Preferences.objects.get().has_no_keys
    after.assert_same_journal(may_add=())


def _save_view() -> None:
    owner = get_user_model().objects.get().pk
    saved_views.save(owner, "workers.process", "Errors", "state=error")


def _view_saved(after: Aftermath) -> None:
    """Whoever saw no answer saves again: the view is the same one."""
    assert SavedView.objects.get().query == "state=error"
    after.assert_same_journal(may_add=())


def _with_view(wire: Wire) -> None:
    _admin(wire)
    _save_view()


def _change_view() -> None:
    saved_views.change(SavedView.objects.get().pk, "Faults", is_shared=True)


def _view_changed(after: Aftermath) -> None:
    view = SavedView.objects.get()
    assert (view.name, view.is_shared) == ("Faults", True)
    after.assert_same_journal(may_add=())


def _delete_view() -> None:
    for view in SavedView.objects.all():
        saved_views.delete(view.pk)


def _view_deleted(after: Aftermath) -> None:
    assert not SavedView.objects.exists()
    after.assert_same_journal(may_add=())


SCENARIOS = [
    Scenario("choose a time zone", _choose_zone, _zone_chosen, prepare=_admin, run=nothing),
    Scenario("switch keys off", _switch_keys, _keys_off, prepare=_admin, run=nothing),
    Scenario("save a view", _save_view, _view_saved, prepare=_admin, run=nothing),
    Scenario("change a view", _change_view, _view_changed, prepare=_with_view, run=nothing),
    Scenario("delete a view", _delete_view, _view_deleted, prepare=_with_view, run=nothing),
]
