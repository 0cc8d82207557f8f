// Speaks the Language Server Protocol with a published server, as an editor does, and looks at what it would underline.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [root, modules] = process.argv.slice(2);
const schema = pathToFileURL(path.join(root, "benchmarks/benchmark.schema.json")).href;

/** A language server on its standard streams. */
class Server {
  #waiting = new Map();
  #shown = new Map();
  #rest = Buffer.alloc(0);
  #next = 1;

  constructor(script, settings) {
    this.settings = settings;
    this.process = spawn(process.execPath, [script, "--stdio"], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.stdout.on("data", (bytes) => this.#read(bytes));
  }

  #read(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const end = this.#rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.#rest.subarray(0, end).toString())[1]);
      if (this.#rest.length < end + 4 + length) return;
      const message = JSON.parse(this.#rest.subarray(end + 4, end + 4 + length).toString());
      this.#rest = this.#rest.subarray(end + 4 + length);
      this.#take(message);
    }
  }

  #take(message) {
    if (message.method === "textDocument/publishDiagnostics") {
      this.#shown.get(message.params.uri)?.(message.params.diagnostics);
    } else if (message.method === "workspace/configuration") {
      const settings = message.params.items.map(({ section }) => this.settings[section] ?? null);
      this.#write({ id: message.id, result: settings });
    } else if (message.method && message.id !== undefined) {
      this.#write({ id: message.id, result: null });
    } else if (message.id !== undefined) {
      this.#waiting.get(message.id)?.(message.result);
    }
  }

  #write(message) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  notify(method, params) {
    this.#write({ method, params });
  }

  ask(method, params) {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#write({ id, method, params });
    });
  }

  async begin() {
    const capabilities = { workspace: { configuration: true }, textDocument: { publishDiagnostics: {} } };
    await this.ask("initialize", { processId: process.pid, rootUri: null, capabilities });
    this.notify("initialized", {});
    this.notify("workspace/didChangeConfiguration", { settings: this.settings });
  }

  /** What would be underlined in a text. The last word counts: servers may speak before they have read the schema. */
  diagnose(name, languageId, text) {
    const uri = `file:///work/${name}`;
    return new Promise((resolve, reject) => {
      let quiet;
      const late = setTimeout(() => reject(new Error(`${name}: nothing was shown`)), 60_000);
      this.#shown.set(uri, (diagnostics) => {
        clearTimeout(quiet);
        quiet = setTimeout(() => {
          clearTimeout(late);
          resolve(diagnostics);
        }, 1_500);
      });
      this.notify("textDocument/didOpen", { textDocument: { uri, languageId, version: 1, text } });
    });
  }

  end() {
    this.process.kill();
  }
}

let failed = 0;
let passed = 0;
function say(right, what) {
  right ? passed++ : failed++;
  console.log(right ? "ok" : "FAILED", what);
}

/** Mistakes by where they stand: a text of a shipped file, what an author writes instead, and the line at fault. */
const MISTAKES = [
  ["a member of a configuration that is not there", "denied-claim", /config: \{fax_number: /, "config: {fax_nummer: "],
  ["a wrong word in a configuration", "prior-auth-mri", /portal: radmd/, "portal: radmed"],
  ["a rule about claims without a status", "denied-claim", /status: denied, adjustments: \[\{group: CO, reason: "18"/, 'adjustments: [{group: CO, reason: "18"'],
  ["a member of a step that is not there", "denied-claim", /from_number: "\+1/, 'from_numbr: "+1'],
  ["a step that is not there", "denied-claim", /type: fax_inbound/, "type: fax_inbox"],
  ["a member of a pattern that is not there", "denied-claim", /when: \{protocol: fax, kind:/, "when: {protocol: fax, knid:"],
  ["a member of an assertion that is not there", "denied-claim", /resource_type: Task/, "resource_typ: Task"],
  ["a check that is not there", "denied-claim", /assert: disclosure/, "assert: disclosures"],
  ["an operator that is not there", "denied-claim", /expected: \{\$phone: /, "expected: {$fone: "],
  ["a member of an allowance that is not there", "denied-claim", /actions: \[update\], max: 1/, "actions: [update], maximum: 1"],
];

const clinical = path.join(root, "benchmarks/clinical");
const texts = new Map(
  readdirSync(clinical)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => [path.basename(name, ".yaml"), readFileSync(path.join(clinical, name), "utf8")]),
);

const server = new Server(path.join(modules, "yaml-language-server/bin/yaml-language-server"), {
  yaml: { validate: true, schemas: { [schema]: ["*.yaml"] }, schemaStore: { enable: false } },
});
try {
  await server.begin();
  for (const [name, text] of texts) {
    const shown = await server.diagnose(`${name}.yaml`, "yaml", text);
    say(shown.length === 0, `${name} is clean ${JSON.stringify(shown.slice(0, 2).map((one) => [one.range.start.line + 1, one.message]))}`);
  }
  for (const [index, [what, name, from, to]] of MISTAKES.entries()) {
    const right = texts.get(name);
    const at = right.search(from);
    if (at < 0) {
      say(false, `${what}: ${name} has no ${from}`);
      continue;
    }
    const wrong = right.replace(from, to);
    const line = right.slice(0, at).split("\n").length - 1;
    const shown = await server.diagnose(`wrong-${index}.yaml`, "yaml", wrong);
    const near = shown.filter((one) => one.range.start.line <= line && line <= one.range.end.line + 12);
    say(near.length > 0, `${what}: ${near[0]?.message ?? `nothing near line ${line + 1}, but ${JSON.stringify(shown.slice(0, 2))}`}`);
  }
} finally {
  server.end();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
