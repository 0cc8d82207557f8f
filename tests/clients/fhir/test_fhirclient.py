"""fhirclient, the SMART project's typed client."""

import pytest
from fhirclient import client
from fhirclient.models.bundle import Bundle
from fhirclient.models.fhirabstractbase import FHIRValidationError
from fhirclient.models.fhirdate import FHIRDate
from fhirclient.models.fhirreference import FHIRReference
from fhirclient.models.humanname import HumanName
from fhirclient.models.observation import Observation
from fhirclient.models.patient import Patient
from fhirclient.server import FHIRNotFoundException


@pytest.fixture
def smart(base_url):
    return client.FHIRClient(settings={"app_id": "tests", "api_base": base_url})


def new_patient(mark):
    patient = Patient()
    name = HumanName()
    name.family = mark
    name.given = ["Ana"]
    patient.name = [name]
    patient.birthDate = FHIRDate("1970-05-17")
    return patient


def test_the_capability_statement_is_read(smart):
    smart.prepare()
    assert smart.server.capabilityStatement.fhirVersion == "4.0.1"


def test_create_read_update_delete(smart, mark):
    created = new_patient(mark).create(smart.server)
    patient = Patient(created)
    assert patient.id
    read = Patient.read(patient.id, smart.server)
    assert read.birthDate.isostring == "1970-05-17"
    read.gender = "female"
    updated = read.update(smart.server)
    assert updated["meta"]["versionId"] == "2"
    read.delete()
    with pytest.raises(Exception) as gone:
        Patient.read(patient.id, smart.server)
    assert isinstance(gone.value, FHIRNotFoundException) or gone.value.response.status_code == 410


def test_search_and_pages(smart, mark):
    for _ in range(5):
        new_patient(mark).create(smart.server)
    search = Patient.where({"family": mark, "birthdate": "lt1980", "_count": "2"})
    assert len(list(search.perform_resources_iter(smart.server))) == 5
    assert len(search.perform_resources(smart.server)) >= 2


def test_references_and_quantities(smart, mark):
    someone = Patient(new_patient(mark).create(smart.server))
    observation = Observation({
        "status": "final",
        "code": {"text": "weight"},
        "valueQuantity": {"value": 70.5, "unit": "kg"},
    })
    observation.subject = FHIRReference({"reference": f"Patient/{someone.id}"})
    observation.create(smart.server)
    found = Observation.where({"patient.family": mark, "value-quantity": "gt70"}).perform_resources(smart.server)
    assert [each.subject.reference for each in found] == [f"Patient/{someone.id}"]
    assert found[0].valueQuantity.value == 70.5


def test_the_bundle_of_a_search_is_valid(smart, mark):
    new_patient(mark).create(smart.server)
    bundle = Patient.where({"family": mark, "_revinclude": "Observation:subject"}).perform(smart.server)
    assert isinstance(bundle, Bundle)
    try:
        Bundle(bundle.as_json(), strict=True)
    except FHIRValidationError as error:
        pytest.fail(str(error))
