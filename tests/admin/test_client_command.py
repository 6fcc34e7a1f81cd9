"""API clients from a terminal: one more token, and what is refused."""

from functools import partial

import pytest
from django.core.management import CommandError

from orders import tokens
from orders.models import ApiClient, ApiToken
from tests.programs import said

run = partial(said, "client")


def test_one_more_token_leaves_the_others_as_they_are(acme):
    before = list(acme.tokens.values())
    token = run("issue", "acme", "--scopes", "submit", "--days", "2").splitlines()[-1]
    found = tokens.verify(token)
    assert found is not None
    assert (found.client, found.scopes) == (acme, ["submit"])
    assert found.expires_at is not None
    assert list(acme.tokens.exclude(pk=found.pk).values()) == before


def test_a_client_whose_tokens_are_revoked_is_given_one_by_name_only(acme):
    run("revoke", "acme")
    before = list(ApiToken.objects.values())
    with pytest.raises(CommandError, match=r"no good token that another could replace\. Issue one"):
        run("rotate", "acme")
    assert list(ApiToken.objects.values()) == before
    assert tokens.verify(run("issue", "acme", "--scopes", "read").splitlines()[-1]) is not None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("issue", "nobody"), "no client nobody"),
        (("issue", "acme", "--scopes", ""), "--scopes are"),
        (("issue", "acme", "--days", "3651"), "1 or more, and 3650 at most"),
        (("issue", "acme", "--days", "99999999999"), "1 or more, and 3650 at most"),
        (("rotate", "acme", "--overlap-hours", "nan"), "0 or more, and 2160 at most"),
        (("rotate", "acme", "--overlap-hours", "inf"), "0 or more, and 2160 at most"),
        (("webhook-secret", "acme", "--rotate", "--overlap-hours", "1e9"), "2160 at most"),
    ],
    ids=str,
)
def test_what_cannot_be_done_says_why(acme, words, says):
    before = list(ApiClient.objects.values()), list(ApiToken.objects.values())
    with pytest.raises(CommandError, match=says):
        run(*words)
    assert (list(ApiClient.objects.values()), list(ApiToken.objects.values())) == before
