// The same agent as plain.py, for a Node that runs TypeScript (22.18 or later), without dependencies:
//
//     proctor run fax-referral --agent 'node examples/agents/plain.ts'

import { readFileSync } from "node:fs";

const MEMBER = "https://harborcardiology.example/member-id";
const CPT = "http://www.ama-assn.org/go/cpt";
const { env } = process;

/** Asks a part of the world, and answers what it says. */
async function call(part: string, path: string, body?: object, method = body ? "POST" : "GET"): Promise<any> {
  const answer = await fetch(env[`PROCTOR_${part}_URL`] + path, {
    method,
    headers: { authorization: `Bearer ${env.PROCTOR_TOKEN}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${part}${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const found = (pattern: RegExp, text: string): string => pattern.exec(text)?.[1].trim() ?? "";
const title = (name: string): string => name.charAt(0) + name.slice(1).toLowerCase();

console.log(readFileSync(env.PROCTOR_PROBLEM_FILE!, "utf8"));
const fax = (await call("FAXES", "?direction=inbound")).data[0];
const text: string = fax.text;
const member = found(/Member ID:\s+(\S+)/, text);
const cpt = found(/CPT (\d{5})/, text);
if (!member || !cpt || !text.includes("Harbor Cardiology")) {
  console.log("this fax is not for a plain agent");
} else {
  const family = title(found(/Patient:\s+\w+ ([A-Z]+)/, text));
  const born = new Date(`${found(/DOB:\s+(\d+ \w+ \d{4})/, text)} UTC`).toISOString().slice(0, 10);
  const known = await call("FHIR", `/Patient?identifier=${encodeURIComponent(`${MEMBER}|${member}`)}`);
  const patient = known.entry?.[0]?.resource ?? await call("FHIR", "/Patient", {
    resourceType: "Patient",
    identifier: [{ system: MEMBER, value: member }],
    name: [{ family, given: [found(/Patient:\s+(\w+)/, text)] }],
    gender: { F: "female", M: "male" }[found(/Sex:\s+(\w)/, text)],
    birthDate: born,
  });
  const subject = { reference: `Patient/${patient.id}` };
  const allergy = found(/ALLERGY:\s+(\w+)/, text);
  if (allergy) {
    const system = "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical";
    await call("FHIR", "/AllergyIntolerance", {
      resourceType: "AllergyIntolerance",
      clinicalStatus: { coding: [{ system, code: "active" }] },
      code: { text: allergy },
      patient: subject,
    });
  }
  await call("FHIR", "/ServiceRequest", {
    resourceType: "ServiceRequest", status: "active", intent: "order",
    priority: text.includes("ROUTINE") ? "routine" : "urgent",
    code: { coding: [{ system: CPT, code: cpt }] }, subject,
  });
  await call("FILES", `/intake/${member}.json`, {
    member_id: member, family, birth_date: born, cpt, fax_id: fax.id,
    referring_npi: found(/NPI (\d+)/, text), patient_reference: subject.reference,
  }, "PUT");
}
