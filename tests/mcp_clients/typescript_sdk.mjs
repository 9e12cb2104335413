// A session of the public TypeScript SDK's client (npm @modelcontextprotocol/sdk) with `cordon mcp`.
//
//   CORDON_NODE_MODULES=DIR node typescript_sdk.mjs CORDON
//
// DIR is a node_modules folder that has the package. Installs nothing: without it the test is skipped.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const program = process.argv[2];
const modules = process.env.CORDON_NODE_MODULES ?? "";

function skip(reason) {
  const required = (process.env.CORDON_REQUIRE ?? "").split(",").includes("mcp-sdk");
  console.log(`${required ? "required, but" : "cordon-test-skipped:"} ${reason}`);
  process.exit(required ? 1 : 0);
}

if (!modules || !fs.existsSync(path.join(modules, "@modelcontextprotocol/sdk"))) {
  skip("CORDON_NODE_MODULES names no folder with @modelcontextprotocol/sdk");
}
const find = createRequire(path.join(modules, "..", "index.js"));
const load = (name) => import(pathToFileURL(find.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ElicitRequestSchema, LoggingMessageNotificationSchema } = await load("types.js");

const ground = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "cordon-sdk-")));
const workspace = path.join(ground, "ws");
fs.mkdirSync(workspace);
const profile = path.join(ground, "profile.json");
fs.writeFileSync(profile, JSON.stringify({
  workspace_root: workspace, workspace_read: "allow", workspace_write: "allow", command: "gated",
}));

async function connect(options, answer) {
  const client = new Client({ name: "sdk-test", version: "1" },
    { capabilities: answer ? { elicitation: {} } : {} });
  const news = [];
  if (answer) client.setRequestHandler(ElicitRequestSchema, answer);
  client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => { news.push(n.params); });
  await client.connect(new StdioClientTransport({
    command: program, args: ["mcp", "-w", workspace, ...options], stderr: "inherit",
  }));
  return { client, news };
}

const call = (client, name, args, options) =>
  client.callTool({ name, arguments: args }, undefined, options);

async function until(condition, what) {
  const end = Date.now() + 15000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `in time: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function plainSession() {
  const { client, news } = await connect([]);
  assert.equal(client.getServerVersion().name, "cordon");
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name), ["bash", "bash_output", "bash_input", "bash_stop"]);

  // The SDK checks structured results against the output schema, those of refusals too.
  const result = await call(client, "bash", { command: "echo out; echo err >&2; exit 3" });
  assert.equal(result.structuredContent.exit_code, 3);
  assert.equal(result.structuredContent.stdout, "out\n");
  const wrong = await call(client, "bash", { comand: "true" });
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /"command"/);

  const progress = [];
  await call(client, "bash", { command: "sleep 2.5" }, { onprogress: (p) => progress.push(p) });
  assert.ok(progress.length >= 1, "progress was reported");

  const stop = new AbortController();
  const ready = path.join(workspace, "ready");
  const long = call(client, "bash", { command: "echo >ready; sleep 30; echo >late" },
    { signal: stop.signal });
  await until(() => fs.existsSync(ready), "the call runs");
  stop.abort("changed my mind");
  await assert.rejects(long);
  assert.equal((await call(client, "bash", { command: "echo on" })).structuredContent.stdout, "on\n");

  await client.setLoggingLevel("info");
  const job = await call(client, "bash", { command: "read x; echo got-$x; exit 5", background: true });
  const handle = job.structuredContent.handle;
  await call(client, "bash_input", { handle, input: "it\n" });
  const output = await call(client, "bash_output", { handle, wait_ms: 10000, wait_for: "all_end" });
  assert.equal(output.structuredContent.output, "got-it\n");
  assert.equal(output.structuredContent.job.exit_code, 5);
  await until(() => news.some((n) => n.data.handle === handle), "the end is notified");
  const other = await call(client, "bash", { command: "sleep 30", background: true });
  const stopped = await call(client, "bash_stop", { handle: other.structuredContent.handle });
  assert.equal(stopped.structuredContent.job.outcome, "cancelled");
  await client.close();
}

async function approvals() {
  const questions = [];
  const answers = [
    { action: "accept", content: { decision: "once" } },
    { action: "decline" },
    { action: "cancel" },
  ];
  const { client } = await connect(["--profile", profile], (request) => {
    questions.push(request.params.message);
    return answers.shift();
  });
  const accepted = await call(client, "bash", { command: "echo yes >made" });
  assert.equal(accepted.structuredContent.exit_code, 0);
  assert.match(questions[0], /echo yes >made/);
  const declined = await call(client, "bash", { command: "echo no >made" });
  assert.match(declined.content[0].text, /refused_by_person/);
  const cancelled = await call(client, "bash", { command: "echo no >made" });
  assert.match(cancelled.content[0].text, /no_approver/);
  assert.equal(fs.readFileSync(path.join(workspace, "made"), "utf8"), "yes\n");
  await client.close();
}

try {
  await plainSession();
  await approvals();
  console.log("a whole session of the TypeScript SDK's client");
} finally {
  fs.rmSync(ground, { recursive: true, force: true });
}
