"""One pool for all who use an endpoint while a loop runs."""

import trio

from agentcompass.models import _endpoints
from agentcompass.models._endpoints import join, leave
from tests.loopback import serve
from tests.loopback_models import Said, whole
from tests.models.talking import ASK, model_of

KEY = ("http://x/v1", "m", "k")


async def test_users_of_one_endpoint_share_connections_and_window():
    async with serve(whole("openai-chat", Said())) as server:
        async with model_of("openai-chat", server.url) as one:
            async with model_of("openai-chat", server.url) as two:
                for model in (one, two):
                    await model.conversation("t", 1).complete(ASK)
                endpoint = one.conversation("t", 1).line.endpoint
                assert endpoint is two.conversation("t", 1).line.endpoint
                assert endpoint.transport.slots.total_tokens == 8
                assert endpoint.gate.window.calls == 8
            assert endpoint.transport.slots.total_tokens == 4
            assert endpoint.gate.window.calls == 4
        await server.quiet()

    assert server.opened == 1


async def test_a_user_may_come_to_need_more_room_and_leaves_none_of_it_behind():
    async with serve(whole("openai-chat", Said())) as server:
        async with model_of("openai-chat", server.url) as one:
            endpoint = one.conversation("t", 1).line.endpoint
            async with model_of("openai-chat", server.url) as two:
                two.allow_calls(10)
                two.allow_calls(3)  # those that are made go on
                assert endpoint.transport.slots.total_tokens == 4 + 10
            two.allow_calls(20)
            assert endpoint.transport.slots.total_tokens == 4
            assert endpoint.gate.window.calls == 4


async def test_another_model_or_key_is_another_endpoint():
    first = join(KEY, 1)
    others = [join((*KEY[:2], "other"), 1), join(("http://x/v1", "n", "k"), 1)]

    assert first not in others
    for endpoint in [first, *others]:
        await leave(endpoint, 1)
    assert _endpoints._endpoints() == {}


async def test_who_comes_back_after_the_last_has_left_finds_a_fresh_one():
    first = join(KEY, 1)
    await leave(first, 1)
    second = join(KEY, 1)

    assert second is not first
    await leave(second, 1)


def test_loops_share_nothing():
    async def use() -> object:
        endpoint = join(KEY, 2)
        assert endpoint.transport.slots.total_tokens == 2
        await leave(endpoint, 2)
        return endpoint

    assert trio.run(use) is not trio.run(use)


async def test_the_key_is_in_no_repr():
    endpoint = join(("http://x/v1", "m", "sk-secret"), 1)

    assert "sk-secret" not in repr(endpoint)
    await leave(endpoint, 1)
