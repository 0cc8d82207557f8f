// The life of a devbox, through the published TypeScript client, which speaks HTTP/2 in clear text by itself.

import assert from "node:assert/strict";
import { Runloop, toFile } from "@runloop/api-client";

const client = new Runloop({ bearerToken: process.env.RUNLOOP_API_KEY });

const box = await client.devboxes.createAndAwaitRunning({
  name: "ts-devbox",
  metadata: { from: "typescript" },
  launch_parameters: { resource_size_request: "SMALL", keep_alive_time_seconds: 600 },
});
assert.equal(box.status, "running");

// Commands: waited for, in a named shell, and streamed.
const said = await client.devboxes.executeAndAwaitCompletion(box.id, { command: "echo hello; exit 3" });
assert.deepEqual([said.stdout, said.exit_status, said.status], ["hello\n", 3, "completed"]);
for (const command of ["cd /tmp", "export MODE=fast"]) {
  await client.devboxes.executeAndAwaitCompletion(box.id, { command, shell_name: "main" });
}
const kept = await client.devboxes.executeAndAwaitCompletion(box.id, { command: "pwd; echo $MODE", shell_name: "main" });
assert.equal(kept.stdout, "/tmp\nfast\n");
const begun = await client.devboxes.executeAsync(box.id, { command: "for i in 1 2 3; do echo line $i; sleep 0.1; done" });
let streamed = "";
for await (const chunk of await client.devboxes.executions.streamStdoutUpdates(box.id, begun.execution_id, {})) {
  streamed += chunk.output;
}
assert.equal(streamed, "line 1\nline 2\nline 3\n");

// Many at once on one connection.
const many = await Promise.all(
  Array.from({ length: 40 }, (_, n) => client.devboxes.executeAndAwaitCompletion(box.id, { command: `echo ${n}` })),
);
assert.deepEqual(many.map((one) => one.stdout), Array.from({ length: 40 }, (_, n) => `${n}\n`));

// Files: text and bytes, in and out.
await client.devboxes.writeFileContents(box.id, { file_path: "notes/a.txt", contents: "Grüße\n" });
assert.equal(await client.devboxes.readFileContents(box.id, { file_path: "~/notes/a.txt" }), "Grüße\n");
const bytes = Uint8Array.from({ length: 200_000 }, (_, n) => n % 251);
await client.devboxes.uploadFile(box.id, { path: "bytes.bin", file: await toFile(bytes, "bytes.bin") });
const download = await client.devboxes.downloadFile(box.id, { path: "bytes.bin" });
assert.deepEqual(new Uint8Array(await download.arrayBuffer()), bytes);

// A snapshot and a devbox that begins with it.
const snapshot = await client.devboxes.snapshotDisk(box.id, { name: "ts-snapshot" });
const copy = await client.devboxes.createAndAwaitRunning({ snapshot_id: snapshot.id });
assert.equal(await client.devboxes.readFileContents(copy.id, { file_path: "notes/a.txt" }), "Grüße\n");
await client.devboxes.diskSnapshots.delete(snapshot.id);

// Refusals are told apart and not tried again.
await assert.rejects(client.devboxes.retrieve("dbx_nonsense"), (error) => error.status === 404);
await assert.rejects(
  client.devboxes.create({ launch_parameters: { resource_size_request: "HUGE" } }),
  (error) => error.status === 400 && /resource_size_request/.test(error.message),
);
const tunnel = await client.devboxes.enableTunnel(box.id, {});
assert.ok(tunnel.tunnel_key);
assert.equal((await client.devboxes.enableTunnel(box.id, {})).tunnel_key, tunnel.tunnel_key);

for (const id of [box.id, copy.id]) {
  assert.equal((await client.devboxes.shutdown(id)).status, "shutdown");
}
await assert.rejects(client.devboxes.execute(box.id, { command: "true" }), (error) => error.status === 400);

console.log("@runloop/api-client: devboxes all well");
process.exit(0);
