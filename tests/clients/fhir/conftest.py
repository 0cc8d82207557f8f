"""What the Python tests share."""

import os
import uuid

import pytest


@pytest.fixture(scope="session")
def base_url() -> str:
    return os.environ["FHIR_BASE"]


@pytest.fixture
def mark() -> str:
    """A word that no other test uses, so that tests do not see each other's resources."""
    return f"t{uuid.uuid4().hex}"
