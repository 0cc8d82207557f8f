// Downloads logs through the published TypeScript client, and leaves them in the directory that is its argument: the archive, and
// as `expected.json` the entries that adm-zip, which the vendor's command line reads them with, finds in it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Runloop } from "@runloop/api-client";
import AdmZip from "adm-zip";

const [directory] = process.argv.slice(2);
const client = new Runloop({ bearerToken: process.env.RUNLOOP_API_KEY });
const LINES = 20_000;

const scenario = await client.scenarios.create({
  name: "archives",
  input_context: { problem_statement: "Count" },
  scoring_contract: {
    scoring_function_parameters: [{ name: "done", weight: 1, scorer: { type: "command_scorer", command: "true" } }],
  },
});
const benchmark = await client.benchmarks.create({ name: "archives", scenario_ids: [scenario.id] });
const run = await client.benchmarks.startRun({ benchmark_id: benchmark.id });
const taken = await client.scenarios.startRunAndAwaitEnvReady(
  { scenario_id: scenario.id, benchmark_run_id: run.id },
  { longPoll: { timeoutMs: 120_000 } },
);
await client.devboxes.executeAndAwaitCompletion(taken.devbox_id, { command: `seq ${LINES}` });
await client.scenarios.runs.scoreAndComplete(taken.id, { polling: { pollingIntervalMs: 50, maxAttempts: 2000 } });

const alone = await client.scenarios.runs.downloadLogs(taken.id);
assert.equal(alone.headers.get("content-disposition"), 'attachment; filename="scenario_run_logs.zip"');
assert.equal(new AdmZip(Buffer.from(await alone.arrayBuffer())).getEntries().length, 5);
// The client has no method for the logs of a benchmark run; the command line asks for them itself.
const response = await fetch(`${process.env.RUNLOOP_BASE_URL}/v1/benchmark_runs/${run.id}/download_logs`, {
  method: "POST",
  headers: { authorization: `Bearer ${process.env.RUNLOOP_API_KEY}`, "content-type": "application/json" },
});
assert.equal(response.status, 200);
assert.equal(response.headers.get("content-disposition"), 'attachment; filename="benchmark_run_logs.zip"');
const bytes = Buffer.from(await response.arrayBuffer());
writeFileSync(join(directory, "logs.zip"), bytes);

const entries = Object.fromEntries(
  new AdmZip(bytes).getEntries().map((entry) => [entry.entryName, entry.getData().toString("utf8")]),
);
const endings = ["setup.log", "exec.log", "agent.log", "scoring.log", "results.json"];
assert.deepEqual(Object.keys(entries).sort(), endings.map((ending) => `${taken.id}_${ending}`).sort());
assert.match(entries[`${taken.id}_exec.log`], new RegExp(` ${LINES}\n`));
writeFileSync(join(directory, "expected.json"), JSON.stringify(entries));
