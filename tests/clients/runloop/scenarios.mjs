// The whole life of a benchmark through the published TypeScript client, which speaks HTTP/2 in clear text by itself.

import assert from "node:assert/strict";
import http2 from "node:http2";
import { syncBuiltinESMExports } from "node:module";
import { inflateRawSync } from "node:zlib";

// Notes every HTTP/2 connection, so that falling back to HTTP/1.1 does not go unseen.
const connections = [];
const { connect } = http2;
http2.connect = (authority, ...rest) => {
  connections.push(String(authority));
  return connect(authority, ...rest);
};
syncBuiltinESMExports();
const { Runloop } = await import("@runloop/api-client");

const client = new Runloop({ bearerToken: process.env.RUNLOOP_API_KEY });
const ready = { longPoll: { timeoutMs: 120_000 } };
const scored = { polling: { pollingIntervalMs: 50, maxAttempts: 2000 } };
const SOLVED = 'test "$(cat answer.txt)" = 42';
const CUSTOM =
  'test "$(cat answer.txt)" = "$(echo "$RL_SCORER_CONTEXT" | tr -dc 0-9)" && echo score=1.0 || echo score=0.0';

const contract = (...scorers) => ({
  scoring_function_parameters: scorers.map((scorer, number) => ({
    name: `scorer-${number}`,
    scorer,
    weight: 1 / scorers.length,
  })),
});

const scenario = (name, more = {}) => ({
  name,
  input_context: { problem_statement: "Write 42 into answer.txt" },
  scoring_contract: contract(
    { type: "command_scorer", command: SOLVED },
    { type: "bash_script_scorer", bash_script: "echo looking; echo score=0.5" },
    {
      type: "test_based_scorer",
      test_command: "sh hidden.sh",
      test_files: [{ file_path: "hidden.sh", file_contents: SOLVED }],
    },
    { type: "custom_scorer", custom_scorer_type: "ts-life", scorer_params: { want: 42 } },
  ),
  ...more,
});

function checkScored(run) {
  assert.equal(run.state, "scored");
  const { score, scoring_function_results: results } = run.scoring_contract_result;
  assert.deepEqual(results.map((one) => [one.score, one.state]), [1, 0.5, 1, 1].map((score) => [score, "complete"]));
  assert.ok(Math.abs(score - 0.875) < 1e-9, `${score}`);
  assert.match(results[1].output, /looking/);
}

// The entries of a zip archive by their names, as its directory at the end has them.
function unzip(bytes) {
  const entries = {};
  const end = bytes.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, size] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20)];
    const [name, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
    const local = bytes.readUInt32LE(at + 42);
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const content = bytes.subarray(begin, begin + size);
    const text = method === 0 ? content : inflateRawSync(content);
    entries[bytes.toString("utf8", at + 46, at + 46 + name)] = text.toString("utf8");
    at += 46 + name + extra + comment;
  }
  return entries;
}

// What there is to be taken.
await client.scenarios.scorers.create({ type: "ts-life", bash_script: CUSTOM });
const first = await client.scenarios.create(scenario("ts-first", { metadata: { suite: "ts" } }));
const second = await client.scenarios.create(
  scenario("ts-second", { required_environment_variables: ["MODEL"], required_secret_names: ["TOKEN"] }),
);
const found = await client.scenarios.list({ name: "ts-first" });
assert.deepEqual(found.getPaginatedItems().map((one) => one.id), [first.id]);
const changed = await client.scenarios.update(second.id, { metadata: { suite: "ts" } });
assert.deepEqual(changed.required_secret_names, ["TOKEN"]);
let benchmark = await client.benchmarks.create({ name: "ts-bench", scenario_ids: [first.id] });
benchmark = await client.benchmarks.updateScenarios(benchmark.id, { scenarios_to_add: [second.id] });
assert.deepEqual(benchmark.scenarioIds, [first.id, second.id]);
const definitions = await client.benchmarks.definitions(benchmark.id);
assert.deepEqual(definitions.scenarios.map((one) => one.id).sort(), [first.id, second.id].sort());
await assert.rejects(
  client.scenarios.create({
    name: "ts-bad",
    input_context: { problem_statement: "x" },
    scoring_contract: contract({ type: "custom_scorer", custom_scorer_type: "ts-nobody" }),
  }),
  (error) => error.status === 400,
);

// Both scenarios are taken, one after the other.
await client.secrets.create({ name: "TS_LIFE", value: "hush-hush" });
const run = await client.benchmarks.startRun({ benchmark_id: benchmark.id, run_name: "ts-run", metadata: { by: "ts" } });
assert.deepEqual([run.state, run.metadata], ["running", { by: "ts" }]);
await assert.rejects(
  client.scenarios.startRun({ scenario_id: second.id, benchmark_run_id: run.id }),
  (error) => error.status === 400 && /MODEL/.test(error.message) && /TOKEN/.test(error.message),
);
const runProfile = { envVars: { MODEL: "m" }, secrets: { TOKEN: "TS_LIFE" } };
const taken = [];
for (const one of [first, second]) {
  const started = await client.scenarios.startRunAndAwaitEnvReady(
    { scenario_id: one.id, benchmark_run_id: run.id, runProfile },
    ready,
  );
  const box = await client.devboxes.retrieve(started.devbox_id);
  assert.deepEqual([box.status, box.initiator_type, box.initiator_id], ["running", "scenario", started.id]);
  const told = await client.devboxes.executeSync(started.devbox_id, { command: 'echo "$MODEL $TOKEN"; echo was here' });
  assert.equal(told.exit_status, 0);
  assert.match(told.stdout, /^m /);
  await client.devboxes.writeFileContents(started.devbox_id, { file_path: "answer.txt", contents: "42\n" });
  const judged = await client.scenarios.runs.scoreAndAwait(started.id, scored);
  checkScored(judged);
  assert.deepEqual(judged.environment_variables, { MODEL: "m" });
  const left = await client.devboxes.executeSync(started.devbox_id, { command: "ls" });
  assert.doesNotMatch(left.stdout, /hidden\.sh/);
  assert.equal((await client.scenarios.runs.complete(started.id)).state, "completed");
  assert.equal((await client.devboxes.retrieve(started.devbox_id)).status, "shutdown");
  await assert.rejects(client.scenarios.runs.score(started.id), (error) => error.status === 400);
  taken.push(started.id);
}
const ended = await client.benchmarkRuns.retrieve(run.id);
assert.deepEqual([ended.state, ended.score], ["completed", 0.875]);
const listed = [];
for await (const one of client.benchmarkRuns.listScenarioRuns(run.id, { limit: 1 })) {
  listed.push(one.id);
}
assert.deepEqual(listed.sort(), [...taken].sort());

// The logs of one of them.
const download = await client.scenarios.runs.downloadLogs(taken[0]);
const logs = unzip(Buffer.from(await download.arrayBuffer()));
const files = ["setup.log", "exec.log", "agent.log", "scoring.log", "results.json"];
assert.deepEqual(Object.keys(logs).sort(), files.map((file) => `${taken[0]}_${file}`).sort());
assert.equal(JSON.parse(logs[`${taken[0]}_results.json`]).score, 0.875);
assert.match(logs[`${taken[0]}_exec.log`], /was here/);
assert.doesNotMatch(logs[`${taken[0]}_exec.log`], /hush-hush/);

// Several at once on one connection; one is completed as soon as it is scored, the others are stopped.
const third = await client.scenarios.create(scenario("ts-third"));
const others = await client.benchmarks.create({ name: "ts-others", scenario_ids: [third.id] });
const secondRun = await client.benchmarks.startRun({ benchmark_id: others.id });
const started = await Promise.all(
  Array.from({ length: 4 }, () =>
    client.scenarios.startRunAndAwaitEnvReady({ scenario_id: third.id, benchmark_run_id: secondRun.id }, ready),
  ),
);
await Promise.all(
  started.map((one) => client.devboxes.writeFileContents(one.devbox_id, { file_path: "answer.txt", contents: "42\n" })),
);
const canceled = await Promise.all(started.slice(1).map((one) => client.scenarios.runs.cancel(one.id)));
assert.deepEqual(canceled.map((one) => one.state), ["canceled", "canceled", "canceled"]);
const completed = await client.scenarios.runs.scoreAndComplete(started[0].id, scored);
assert.equal(completed.state, "completed");
const whole = await client.benchmarkRuns.retrieve(secondRun.id);
assert.deepEqual([whole.state, whole.score], ["completed", 0.875]);
for (const one of started) {
  assert.equal((await client.devboxes.retrieve(one.devbox_id)).status, "shutdown");
}

assert.ok(connections.length > 0, "HTTP/2 is what this client speaks");
assert.ok(connections.every((authority) => authority.startsWith("http://")), `${connections}`);
console.log(`@runloop/api-client: scenarios all well, over ${connections.length} HTTP/2 connection(s)`);
process.exit(0);
