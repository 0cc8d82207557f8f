// fhir-kit-client, the JavaScript client.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { Client } from 'fhir-kit-client';

const client = new Client({ baseUrl: process.env.FHIR_BASE });
const mark = () => `t${randomUUID().replaceAll('-', '')}`;
const patient = (family, more = {}) => ({ resourceType: 'Patient', name: [{ family }], ...more });
const status = (error) => error.response?.status ?? error.status;

test('create, read, version read, update, delete', async () => {
  const created = await client.create({ resourceType: 'Patient', body: patient(mark()) });
  const { id } = created;
  const { response } = Client.httpFor(created);
  assert.equal(response.status, 201);
  assert.equal(response.headers.get('etag'), 'W/"1"');
  assert.match(response.headers.get('location'), new RegExp(`/Patient/${id}/_history/1$`));
  await client.update({ resourceType: 'Patient', id, body: { ...created, gender: 'female' } });
  assert.equal((await client.read({ resourceType: 'Patient', id })).gender, 'female');
  assert.equal((await client.vread({ resourceType: 'Patient', id, version: '1' })).gender, undefined);
  await client.delete({ resourceType: 'Patient', id });
  await assert.rejects(client.read({ resourceType: 'Patient', id }), (error) => status(error) === 410);
});

test('JSON Patch', async () => {
  const { id } = await client.create({ resourceType: 'Patient', body: patient(mark()) });
  const jsonPatch = [{ op: 'add', path: '/gender', value: 'male' }];
  const patched = await client.patch({ resourceType: 'Patient', id, jsonPatch });
  assert.equal(patched.gender, 'male');
});

test('a stale version is 412', async () => {
  const created = await client.create({ resourceType: 'Patient', body: patient(mark()) });
  const change = { resourceType: 'Patient', id: created.id, body: created, options: { headers: { 'If-Match': 'W/"1"' } } };
  await client.update(change);
  await assert.rejects(client.update(change), (error) => status(error) === 412);
});

test('search with include, revinclude, chain, _has, dates and quantities', async () => {
  const family = mark();
  const { id } = await client.create({ resourceType: 'Patient', body: patient(family, { birthDate: '1970-05-17' }) });
  await client.create({
    resourceType: 'Observation',
    body: {
      resourceType: 'Observation', status: 'final', code: { coding: [{ code: '29463-7' }] },
      subject: { reference: `Patient/${id}` }, effectiveDateTime: '2024-01-10', valueQuantity: { value: 70.5, unit: 'kg' },
    },
  });
  const count = async (resourceType, searchParams) => (await client.search({ resourceType, searchParams })).total;
  assert.equal(await count('Patient', { family, birthdate: ['ge1970', 'lt1971'] }), 1);
  assert.equal(await count('Patient', { family, '_has:Observation:patient:code': '29463-7' }), 1);
  assert.equal(await count('Observation', { 'patient.family': family, 'value-quantity': 'ge70' }), 1);
  assert.equal(await count('Observation', { 'subject:Patient.family': family, date: 'gt2024-01-10' }), 0);
  const included = await client.search({ resourceType: 'Observation', searchParams: { 'patient.family': family, _include: 'Observation:subject' } });
  assert.deepEqual(included.entry.map((entry) => entry.search.mode), ['match', 'include']);
  const reverse = await client.search({ resourceType: 'Patient', searchParams: { family, _revinclude: 'Observation:subject' } });
  assert.equal(reverse.entry.length, 2);
  const compartment = await client.compartmentSearch({ resourceType: 'Observation', compartment: { resourceType: 'Patient', id } });
  assert.equal(compartment.total, 1);
});

test('pages to the end and back', async () => {
  const family = mark();
  for (let number = 0; number < 7; number += 1) {
    await client.create({ resourceType: 'Patient', body: patient(family) });
  }
  let page = await client.search({ resourceType: 'Patient', searchParams: { family, _count: 3 } });
  const first = page.entry.map((entry) => entry.resource.id);
  const seen = [...first];
  let last = page;
  while ((page = await client.nextPage({ bundle: last }))) {
    seen.push(...page.entry.map((entry) => entry.resource.id));
    last = page;
  }
  assert.equal(new Set(seen).size, 7);
  while ((page = await client.prevPage({ bundle: last }))) {
    last = page;
  }
  assert.deepEqual(last.entry.map((entry) => entry.resource.id), first);
});

test('transaction, batch, history, operations', async () => {
  const family = mark();
  const bundle = {
    resourceType: 'Bundle', type: 'transaction',
    entry: [
      { fullUrl: 'urn:uuid:1', request: { method: 'POST', url: 'Patient' }, resource: patient(family) },
      {
        request: { method: 'POST', url: 'Encounter' },
        resource: { resourceType: 'Encounter', status: 'finished', class: { code: 'AMB' }, subject: { reference: 'urn:uuid:1' } },
      },
    ],
  };
  const answer = await client.transaction({ body: bundle });
  assert.equal(answer.type, 'transaction-response');
  const found = await client.search({ resourceType: 'Encounter', searchParams: { 'patient.family': family } });
  assert.equal(found.total, 1);
  const batch = await client.batch({ body: { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET', url: `Patient?family=${family}` } }] } });
  const { id } = batch.entry[0].resource.entry[0].resource;
  assert.equal((await client.resourceHistory({ resourceType: 'Patient', id })).total, 1);
  const everything = await client.operation({ name: 'everything', resourceType: 'Patient', id, method: 'GET' });
  assert.equal(everything.entry.length, 2);
});

test('conditional create, and the capability statement', async () => {
  const value = mark();
  const options = { headers: { 'If-None-Exist': `identifier=urn:js|${value}` } };
  const body = { resourceType: 'Patient', identifier: [{ system: 'urn:js', value }] };
  const first = await client.create({ resourceType: 'Patient', body, options });
  const second = await client.create({ resourceType: 'Patient', body, options });
  assert.equal(first.id, second.id);
  assert.equal((await client.capabilityStatement()).fhirVersion, '4.0.1');
});
