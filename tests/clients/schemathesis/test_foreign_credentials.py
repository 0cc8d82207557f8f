"""Every operation once more, on things of one organization with the credentials of another: nothing is opened.

What is about a thing of the first organization never succeeds, and no answer that succeeds shows an id of it. Credentials that an
operation does not take are refused before anything else is looked at.
"""

import json
import os
import re
import urllib.request

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from things import Things

URL, KEY = os.environ["PROCTOR_URL"], os.environ["PROCTOR_KEY"]
OPERATOR_KEY = os.environ["PROCTOR_OPERATOR_KEY"]
EXAMPLES = int(os.environ.get("FOREIGN_EXAMPLES", "3"))
ID = re.compile(r"\b[a-z]{2,6}_[0-9A-HJKMNP-TV-Z]{26}\b")
# What these are about is a name that every organization has for itself.
BY_NAME = ("/metadata/keys/{key}/values",)

schema = schemathesis.openapi.from_url(f"{URL}/openapi.json")
owned = Things(URL, KEY, OPERATOR_KEY)


def second_organization():
    """The credentials of an organization that owns nothing of the first one's."""
    request = urllib.request.Request(
        f"{URL}/organizations",
        json.dumps({"name": "Second"}).encode(),
        {"Authorization": f"Bearer {OPERATOR_KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        key = json.load(answer)["api_key"]["key"]
    foreign = Things(URL, key)
    return {
        "organization_key": key,
        "solver_key": foreign.get(foreign.solver)["its_key"],
        "run_token": foreign.taken_run()["token"],
        "operator_key": OPERATOR_KEY,
    }


credentials = second_organization()


def owned_ids():
    """The bare ids of everything that the first organization made."""
    return {found.split("_", 1)[1] for found in ID.findall(json.dumps(list(owned.made.values())))}


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_foreign_credentials(case):
    operation = case.operation
    schemes = {name for one in operation.definition.raw.get("security", []) for name in one}
    if not schemes or schemes == {"operator_key"}:
        pytest.skip("it takes no credential of an organization")
    thing = owned.of(operation.method.upper(), operation.path)
    parameters = case.path_parameters or {}
    for name in parameters:
        if name in thing:
            parameters[name] = thing[name]
    is_about_theirs = any(name in thing for name in parameters) and not operation.path.endswith(BY_NAME)
    if operation.path.endswith("/wait_for_status") and isinstance(case.body, dict):
        case.body["timeout_seconds"] = 0.05
    for scheme, key in credentials.items():
        response = case.call(headers={"Authorization": f"Bearer {key}"}, timeout=60)
        said = f"{scheme}: {response.status_code} {response.text[:300]}"
        assert response.status_code < 500 or response.status_code == 501, said
        if scheme not in schemes:
            # Methods that a path does not have are tried as well, and who shows many wrong keys has to wait.
            assert response.status_code in (400, 401, 404, 405, 413, 415, 429), said
        if is_about_theirs:
            assert response.status_code >= 400, said
        if response.status_code < 400:
            shown = {found.split("_", 1)[1] for found in ID.findall(response.text)}
            assert not shown & owned_ids(), said


@pytest.fixture(scope="session", autouse=True)
def nothing_runs_afterwards():
    """Devboxes outlive their server."""
    yield
    for key in (KEY, credentials["organization_key"]):
        for status in ("provisioning", "initializing", "running", "suspending", "suspended"):
            for devbox in owned.call("GET", f"/v1/devboxes?limit=5000&status={status}", key=key)["devboxes"]:
                owned.post(f"/v1/devboxes/{devbox['id']}/shutdown", key=key)
