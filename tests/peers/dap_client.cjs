// The client of the Debug Adapter Protocol that VS Code's own adapters are tested with, on one session: a conditional
// breakpoint, hit; a step back; a value that is changed; on to the end. Prints what it saw as JSON.
"use strict";
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const [loopdbg, program] = process.argv.slice(2);

async function main() {
  const client = new DebugClient(loopdbg, "dap", "loopdbg");
  client.defaultTimeout = 120000;
  await client.start();
  const seen = {};
  const initialized = client.waitForEvent("initialized");
  const capabilities = await client.initializeRequest();
  seen.stepBack = capabilities.body.supportsStepBack;
  await client.launchRequest({ program, inputs: { a: 2, tol: 1e-6 } });
  await initialized;
  const entry = client.waitForEvent("stopped");
  await client.configurationDoneRequest();
  seen.entry = (await entry).body.description;
  const text = (await client.sourceRequest({ sourceReference: 1 })).body.content.split("\n");
  const line = text.findIndex((one) => one.includes("err_new = ")) + 1;
  const set = await client.setBreakpointsRequest({
    source: { sourceReference: 1 },
    breakpoints: [{ line, condition: "x < 1.42" }],
  });
  seen.verified = set.body.breakpoints[0].verified;
  const moved = async (request) => {
    const stopped = client.waitForEvent("stopped");
    await request;
    return (await stopped).body;
  };
  seen.hit = (await moved(client.continueRequest({ threadId: 1 }))).reason;
  const frames = (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames;
  seen.line = frames[0].line - line;
  seen.back = (await moved(client.stepBackRequest({ threadId: 1 }))).reason;
  const scopes = (await client.scopesRequest({ frameId: 1 })).body.scopes;
  const reference = scopes.find((one) => one.name === "Carried").variablesReference;
  await client.setBreakpointsRequest({ source: { sourceReference: 1 }, breakpoints: [] });
  seen.set = (await client.setVariableRequest({ variablesReference: reference, name: "x", value: "100.0" })).body.value;
  seen.end = (await moved(client.continueRequest({ threadId: 1 }))).description;
  await client.stop();
  console.log(JSON.stringify(seen));
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
