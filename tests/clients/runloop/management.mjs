// The account and its secrets, through the published TypeScript client, which speaks HTTP/2 in
// clear text by itself.

import assert from "node:assert/strict";
import { Runloop } from "@runloop/api-client";

const client = new Runloop({ bearerToken: process.env.RUNLOOP_API_KEY });

const me = await client.get("/v1/accounts/me");
assert.match(me.id, /^org_/);

const made = await client.secrets.create({ name: "TS_TOKEN", value: "hush" });
assert.match(made.id, /^sec_/);
const changed = await client.secrets.update("TS_TOKEN", { value: "hush again" });
assert.equal(changed.id, made.id);
const listed = await client.secrets.list({ limit: 1 });
assert.deepEqual(listed.secrets.map((secret) => secret.name), ["TS_TOKEN"]);
assert.equal((await client.secrets.delete("TS_TOKEN")).id, made.id);

await assert.rejects(
  client.secrets.create({ name: "two\nlines", value: null }),
  (error) => error.status === 400 && /name: .*value: /.test(error.message),
);
const stranger = new Runloop({ bearerToken: "vk_nobody-made-this-one" });
await assert.rejects(stranger.secrets.list(), (error) => error.status === 401);

const names = Array.from({ length: 200 }, (_, n) => `TS_${n}`);
await Promise.all(names.map((name) => client.secrets.create({ name, value: "v" })));
const all = await client.secrets.list({ limit: 5000 });
assert.ok(names.every((name) => all.secrets.some((secret) => secret.name === name)));
await Promise.all(names.map((name) => client.secrets.delete(name)));

console.log("@runloop/api-client: all well");
process.exit(0);
