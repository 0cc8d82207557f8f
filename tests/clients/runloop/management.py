"""The account and its secrets, through the published Python client, sync and async."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import runloop_api_client
from runloop_api_client import AsyncRunloop, Runloop


def refused(kind, call):
    """The error of `kind` that `call` ends with."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{call} was not refused")


def account(client):
    me = client.accounts.me()
    assert me.id.startswith("org_"), me
    assert me.account_status == "ACCOUNT_STATUS_ENABLED", me
    assert me.billing.account_billing_type == "UNRECOGNIZED", me


def secrets(client):
    made = client.secrets.create(name="PY_TOKEN", value="hush")
    assert made.id.startswith("sec_") and made.name == "PY_TOKEN", made
    assert made.create_time_ms == made.update_time_ms, made
    assert client.secrets.retrieve("PY_TOKEN") == made
    changed = client.secrets.update("PY_TOKEN", value="hush again")
    assert changed.id == made.id and changed.update_time_ms >= made.update_time_ms, changed
    listed = client.secrets.list(limit=1)
    assert [secret.name for secret in listed.secrets] == ["PY_TOKEN"], listed
    assert listed.total_count >= 1, listed
    assert client.secrets.delete("PY_TOKEN").id == made.id


def refusals(client):
    bad = refused(
        runloop_api_client.BadRequestError,
        lambda: client.secrets.create(name="two\nlines", value=None),
    )
    assert bad.body["code"] == "validation_error", bad.body
    assert "name: " in bad.body["message"] and "value: " in bad.body["message"], bad.body
    missing = refused(
        runloop_api_client.NotFoundError, lambda: client.secrets.retrieve("NOBODY")
    )
    assert missing.body["code"] == "not_found", missing.body
    stranger = client.copy(bearer_token="vk_nobody-made-this-one")
    refused(runloop_api_client.AuthenticationError, stranger.accounts.me)


def done_once(client):
    def create(_):
        return client.secrets.create(name="PY_ONCE", value="v", idempotency_key="py-once")

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(create, range(16)))
    assert len({secret.id for secret in made}) == 1, made
    refused(
        runloop_api_client.BadRequestError,
        lambda: client.secrets.create(name="PY_TWICE", value="v", idempotency_key="py-once"),
    )
    client.secrets.delete("PY_ONCE")


async def asynchronously():
    async with AsyncRunloop() as client:
        names = [f"PY_ASYNC_{n}" for n in range(20)]
        await asyncio.gather(*(client.secrets.create(name=name, value="v") for name in names))
        listed = await client.secrets.list(limit=50)
        assert set(names) <= {secret.name for secret in listed.secrets}, listed
        await asyncio.gather(*(client.secrets.delete(name) for name in names))


if __name__ == "__main__":
    with Runloop() as client:
        account(client)
        secrets(client)
        refusals(client)
        done_once(client)
    asyncio.run(asynchronously())
    print(f"runloop-api-client {runloop_api_client.__version__}: all well")
