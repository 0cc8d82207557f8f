// Takes a task with the official TypeScript client: `take.mjs STEPS`. Prints what the last step answered.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { PROCTOR_MCP_URL, PROCTOR_TOKEN, STEPS } = process.env;
const steps = JSON.parse(readFileSync(STEPS, "utf8"))[process.argv[2]];
const transport = new StreamableHTTPClientTransport(new URL(PROCTOR_MCP_URL), {
  requestInit: { headers: { Authorization: `Bearer ${PROCTOR_TOKEN}` } },
});
const client = new Client({ name: "take", version: "1" });
await client.connect(transport);
assert.equal(client.getServerVersion().name, "proctor");

const tools = (await client.listTools()).tools.map((tool) => tool.name);
for (const step of steps) assert.ok(tools.includes(step.tool), step.tool);
const prompt = await client.getPrompt({ name: "task" });
assert.match(prompt.messages[0].content.text, /Call `complete` once/);
const { resources } = await client.listResources();
const instruction = await client.readResource({ uri: resources[0].uri });
assert.equal(instruction.contents[0].text, prompt.messages[0].content.text);

const known = {};
let said;
for (const step of steps) {
  const filled = JSON.stringify(step.arguments).replace(/\{\{(\w+)\}\}/g, (_, name) => known[name]);
  const result = await client.callTool({ name: step.tool, arguments: JSON.parse(filled) });
  said = result.content[0].text;
  assert.ok(!result.isError, `${step.tool}: ${said}`);
  for (const [name, member] of Object.entries(step.pick ?? {})) known[name] = JSON.parse(said)[member];
}
const wrong = await client.callTool({ name: "complete", arguments: { score: 1 } });
assert.ok(wrong.isError);
await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), /there is no tool 'no_such_tool'/);
await client.close();
console.log(said);
