"""Every operation of the OpenAPI document, with whatever schemathesis makes of its parameters and bodies: no answer is a
server error, no connection is dropped, and every answer, refusals included, has the shape that the document gives it."""

import os
import urllib.error
import zlib

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from things import Things

URL, KEY = os.environ["PROCTOR_URL"], os.environ["PROCTOR_KEY"]
OPERATOR_KEY = os.environ["PROCTOR_OPERATOR_KEY"]
EXAMPLES = int(os.environ.get("EXAMPLES", "12"))
SHAPES = [status_code_conformance, content_type_conformance, response_schema_conformance]
# Whoever asks for one of these leaves a box behind, unless somebody ends it.
BOX_MAKERS = {"create_devbox", "create_devbox_and_await_running", "start_scenario_run"}

schema = schemathesis.openapi.from_url(f"{URL}/openapi.json")
things = Things(URL, KEY, OPERATOR_KEY)


class Watching(requests.Session):
    """Notes connections that were dropped, also where the request is made again."""

    def __init__(self):
        super().__init__()
        self.dropped = []

    def send(self, request, **options):
        try:
            return super().send(request, **options)
        except requests.ConnectionError as error:
            self.dropped.append(f"{request.method} {request.url}: {error}")
            raise


session = Watching()


def is_kept(case):
    """One in four stays as it was made up, always the same ones."""
    made_up = repr((case.path_parameters, case.query, case.body))
    return zlib.crc32(made_up.encode(errors="replace")) % 4 == 0


def refer(body, references):
    """Puts ids of things that are there where a body has some text for them."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name in references and isinstance(value, (str, list)):
                body[name] = references[name]()
            else:
                refer(value, references)
    elif isinstance(body, list):
        for one in body:
            refer(one, references)


def place(case):
    """Has the case be about things that are there, and answers with the key for them."""
    path = case.operation.path
    thing = things.of(case.operation.method.upper(), path)
    if not is_kept(case):
        for name in case.path_parameters or {}:
            if name in thing:
                case.path_parameters[name] = thing[name]
        refer(case.body, things.references(path))
    if path.endswith("/wait_for_status") and isinstance(case.body, dict):
        # How long is waited is tested elsewhere.
        case.body["timeout_seconds"] = 0.05
    schemes = security(case)
    if "operator_key" in schemes:
        return OPERATOR_KEY
    return thing.get("key", KEY) if schemes & {"solver_key", "run_token"} else KEY


def security(case):
    """The credentials that an operation takes."""
    return {name for one in case.operation.definition.raw.get("security", []) for name in one}


def clear_up(case, response):
    """Ends at once what would go on by itself."""
    if response.status_code != 200:
        return
    name = case.operation.definition.raw["operationId"]
    if name in BOX_MAKERS:
        made = response.json()
        end = f"/v1/devboxes/{made.get('devbox_id') or made['id']}/shutdown"
    elif name == "create_benchmark_job":
        end = f"/v1/benchmark_jobs/{response.json()['id']}/cancel"
    else:
        return
    try:
        things.post(end)
    except urllib.error.HTTPError as error:
        pytest.fail(f"{end} failed: {error}")


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_operation(case):
    key = place(case)
    session.dropped.clear()
    response = case.call(session=session, headers={"Authorization": f"Bearer {key}"}, timeout=60)
    clear_up(case, response)
    assert not session.dropped, session.dropped
    # What is not offered says so, and the document says that it will.
    is_not_offered = response.status_code == 501 and "501" in case.operation.definition.raw["responses"]
    checks = SHAPES if is_not_offered else [not_a_server_error, *SHAPES]
    if response.headers.get("content-type") == ["text/event-stream"]:
        # The document has the shape of what an event carries, which schemathesis takes for the event's own.
        checks = [check for check in checks if check is not response_schema_conformance]
    case.validate_response(response, checks=checks)


@pytest.fixture(scope="session", autouse=True)
def nothing_runs_afterwards():
    """Devboxes outlive their server."""
    yield
    for status in ("provisioning", "initializing", "running", "suspending", "suspended"):
        for devbox in things.call("GET", f"/v1/devboxes?limit=5000&status={status}")["devboxes"]:
            things.post(f"/v1/devboxes/{devbox['id']}/shutdown")
