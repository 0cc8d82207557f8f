"""fhirpy, the client that writes like an ORM."""

import pytest
import requests
from fhirpy import SyncFHIRClient
from fhirpy.base.exceptions import MultipleResourcesFound, OperationOutcome, ResourceNotFound


@pytest.fixture
def client(base_url):
    return SyncFHIRClient(base_url)


def patient(client, mark, **more):
    return client.resource(
        "Patient", name=[{"family": mark}], identifier=[{"system": "urn:test", "value": mark}], **more
    )


def test_create_read_update_delete(client, mark):
    created = patient(client, mark, gender="female", birthDate="1970-05-17")
    created.save()
    assert created.id
    read = client.reference("Patient", created.id).to_resource()
    assert read["gender"] == "female"
    read["gender"] = "other"
    read.save()
    assert client.resources("Patient").search(_id=created.id).first()["gender"] == "other"
    read.delete()
    with pytest.raises(ResourceNotFound):
        client.reference("Patient", created.id).to_resource()


def test_patch_by_fields(client, mark):
    created = patient(client, mark, gender="female", active=True)
    created.save()
    created["gender"] = "male"
    created.save(fields=["gender"])
    created.patch(active=None, birthDate="1980-01-01")
    stored = client.resources("Patient").get(created.id)
    assert stored["gender"] == "male" and stored["birthDate"] == "1980-01-01"
    assert "active" not in stored


def test_conditional_create_and_update(client, mark):
    criteria = client.resources("Patient").search(identifier=f"urn:test|{mark}")
    first, is_new = criteria.get_or_create(patient(client, mark))
    assert is_new
    second, is_new = criteria.get_or_create(patient(client, mark))
    assert not is_new and second.id == first.id
    updated, is_new = criteria.update(patient(client, mark, active=True))
    assert not is_new and updated.id == first.id and updated["active"] is True
    patient(client, mark).save()
    with pytest.raises(MultipleResourcesFound):
        criteria.update(patient(client, mark))


def test_paging_to_the_end_and_counting(client, mark):
    for number in range(25):
        patient(client, mark, birthDate=f"19{50 + number}-01-01").save()
    found = client.resources("Patient").search(family=mark).sort("-birthdate").limit(7)
    assert [each["birthDate"][:4] for each in found] == [str(1974 - number) for number in range(25)]
    assert len(client.resources("Patient").search(family=mark).limit(10).fetch_all()) == 25
    assert client.resources("Patient").search(family=mark).count() == 25


def test_search_through_references(client, mark):
    organization = client.resource("Organization", name=mark)
    organization.save()
    someone = patient(client, mark, managingOrganization=organization.to_reference())
    someone.save()
    observation = client.resource(
        "Observation",
        status="final",
        code={"coding": [{"system": "http://loinc.org", "code": "29463-7"}]},
        subject=someone.to_reference(),
        effectiveDateTime="2024-01-10T08:30:00Z",
        valueQuantity={"value": 70.5, "unit": "kg", "system": "http://unitsofmeasure.org", "code": "kg"},
    )
    observation.save()
    observations = client.resources("Observation")
    assert observations.search(patient__name=mark).count() == 1
    assert observations.search(subject=someone.to_reference(), date__ge="2024-01-01", date__lt="2024-02-01").count() == 1
    assert observations.search(patient__organization__name=mark, value_quantity__gt="70").count() == 1
    assert observations.search(patient__name=mark, value_quantity__gt="71").count() == 0
    assert client.resources("Patient").search(**{"_has:Observation:patient:code": "29463-7", "family": mark}).count() == 1
    bundle = observations.search(patient__name=mark).include("Observation", "subject").fetch_raw()
    assert [entry["resource"]["resourceType"] for entry in bundle["entry"]] == ["Observation", "Patient"]
    bundle = client.resources("Patient").search(family=mark).revinclude("Observation", "subject").fetch_raw()
    assert [entry["search"]["mode"] for entry in bundle["entry"]] == ["match", "include"]


def test_transaction_with_urn_uuid(client, mark):
    someone, seen = "urn:uuid:8d1c1f6e-0000-4000-8000-000000000001", "urn:uuid:8d1c1f6e-0000-4000-8000-000000000002"
    bundle = client.resource(
        "Bundle",
        type="transaction",
        entry=[
            {"fullUrl": seen, "request": {"method": "POST", "url": "Encounter"},
             "resource": {"resourceType": "Encounter", "status": "finished", "class": {"code": "AMB"}, "subject": {"reference": someone}}},
            {"fullUrl": someone, "request": {"method": "POST", "url": "Patient"},
             "resource": {"resourceType": "Patient", "name": [{"family": mark}]}},
        ],
    )
    answer = client.execute("", method="post", data=bundle.serialize())
    assert [entry["response"]["status"][:3] for entry in answer["entry"]] == ["201", "201"]
    assert client.resources("Encounter").search(patient__family=mark).count() == 1


def test_a_stale_version_is_412(client, base_url, mark):
    created = patient(client, mark)
    created.save()
    headers = {"If-Match": 'W/"1"', "Content-Type": "application/fhir+json"}
    url = f"{base_url}/Patient/{created.id}"
    body = {"resourceType": "Patient", "id": created.id, "active": True}
    assert requests.put(url, json=body, headers=headers).status_code == 200
    assert requests.put(url, json=body, headers=headers).status_code == 412


def test_refusals_are_operation_outcomes(client, mark):
    with pytest.raises(OperationOutcome) as refusal:
        patient(client, mark, gender="neither").save()
    assert refusal.value.resource["issue"][0]["expression"] == ["Patient.gender"]
    with pytest.raises(OperationOutcome):
        client.resources("Patient").search(birthdate="yesterday").fetch()


def test_validate_and_operations(client, mark):
    assert patient(client, mark).is_valid()
    someone = patient(client, mark)
    someone.save()
    everything = someone.execute("$everything", method="get")
    assert everything["entry"][0]["resource"]["id"] == someone.id
