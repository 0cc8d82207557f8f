"""An agent without a model or a dependency: it takes in referrals that come by fax.

    proctor run fax-referral --agent 'python3 examples/agents/plain.py'

It reads the fax, looks for the patient, and enters chart, order and intake record as far as a few patterns take it. What an
agent needs is in its environment: PROCTOR_TOKEN opens the world of this attempt, PROCTOR_FAXES_URL and so on are its parts.
"""

import json
import os
import re
import urllib.parse
import urllib.request
from datetime import datetime

MEMBER = "https://harborcardiology.example/member-id"
CPT = "http://www.ama-assn.org/go/cpt"


def call(part, path="", body=None, method=None):
    """Asks a part of the world, and answers what it says."""
    url = os.environ[f"PROCTOR_{part}_URL"] + path
    request = urllib.request.Request(url, method=method or ("POST" if body else "GET"))
    request.add_header("Authorization", "Bearer " + os.environ["PROCTOR_TOKEN"])
    request.add_header("Content-Type", "application/json")
    data = json.dumps(body).encode() if body else None
    with urllib.request.urlopen(request, data) as answer:
        return json.load(answer)


def found(pattern, text):
    match = re.search(pattern, text)
    return match.group(1).strip() if match else None


def main():
    with open(os.environ["PROCTOR_PROBLEM_FILE"]) as problem:
        print(problem.read())
    fax = call("FAXES", "?direction=inbound")["data"][0]
    text = fax["text"]
    member, cpt = found(r"Member ID:\s+(\S+)", text), found(r"CPT (\d{5})", text)
    if not member or not cpt or "Harbor Cardiology" not in text:
        print("this fax is not for a plain agent")
        return
    given, family = found(r"Patient:\s+(\w+)", text), found(r"Patient:\s+\w+ ([A-Z]+)", text)
    born = datetime.strptime(found(r"DOB:\s+(\d+ \w+ \d{4})", text), "%d %B %Y").strftime("%Y-%m-%d")
    known = call("FHIR", "/Patient?identifier=" + urllib.parse.quote(f"{MEMBER}|{member}"))
    if known.get("entry"):
        patient = known["entry"][0]["resource"]
    else:
        patient = call("FHIR", "/Patient", {
            "resourceType": "Patient",
            "identifier": [{"system": MEMBER, "value": member}],
            "name": [{"family": family.title(), "given": [given]}],
            "gender": {"F": "female", "M": "male"}[found(r"Sex:\s+(\w)", text)],
            "birthDate": born,
        })
    subject = {"reference": "Patient/" + patient["id"]}
    allergy = found(r"ALLERGY:\s+(\w+)", text)
    if allergy:
        call("FHIR", "/AllergyIntolerance", {
            "resourceType": "AllergyIntolerance",
            "clinicalStatus": {"coding": [{
                "system": "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "code": "active"}]},
            "code": {"text": allergy},
            "patient": subject,
        })
    call("FHIR", "/ServiceRequest", {
        "resourceType": "ServiceRequest", "status": "active", "intent": "order",
        "priority": "routine" if "ROUTINE" in text else "urgent",
        "code": {"coding": [{"system": CPT, "code": cpt}]}, "subject": subject,
    })
    call("FILES", f"/intake/{member}.json", {
        "member_id": member, "family": family.title(), "birth_date": born, "cpt": cpt, "fax_id": fax["id"],
        "referring_npi": found(r"NPI (\d+)", text), "patient_reference": subject["reference"],
    }, "PUT")


main()
