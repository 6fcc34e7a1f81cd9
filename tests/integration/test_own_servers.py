"""Tests that run at the same moment share nothing at the servers they use."""

from contextlib import ExitStack

import redis

from tests.services import own_redis_database


def test_own_redis_database_is_isolated_and_cleared_after_use():
    with ExitStack() as stack:
        first = redis.Redis.from_url(stack.enter_context(own_redis_database()))
        first.set("kept", "yes")
        with own_redis_database() as url:
            assert redis.Redis.from_url(url).keys() == []
        assert first.get("kept") == b"yes"
    assert first.keys() == []


def test_redis_database_that_holds_keys_is_not_taken():
    with own_redis_database() as url:
        theirs = url
    with redis.Redis.from_url(theirs) as client:
        client.set("a shop's", "carts")
        try:
            with own_redis_database() as url:
                assert url != theirs
            assert client.get("a shop's") == b"carts"
        finally:
            client.delete("a shop's")
