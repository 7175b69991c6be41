// A worker in JavaScript: runs `command` tasks, and tasks of its own, for a Mainspring server.
// It needs Node 20 and nothing else; what it says is in docs/reference/worker-protocol.md.
//
//   MAINSPRING_URL=http://127.0.0.1:8470 MAINSPRING_TOKEN=… node worker.mjs reports,images

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const SLOTS = { command: 4, async: 20 };

// Tasks of its own, by name: each gets its arguments and gives its result, or throws.
const TASKS = {
  greet: async ({ name }, log) => {
    log(`greeting ${name}\n`);
    return `Hello, ${name}!`;
  },
};

const server = `${process.env.MAINSPRING_URL}/api/v1/workers/`;
const path = randomUUID();
const free = { ...SLOTS };
const hand = new Map(); // "task:term" → { claim, stop }
const asking = new Set(); // claims that are asked for and not answered yet
let draining = false;

// Asks until it is answered: asking twice is asking once. 410: this worker was given up.
async function call(method, rest, body) {
  for (let pause = 100; ; pause = Math.min(pause * 2, 2000)) {
    const answer = await fetch(server + path + rest, {
      method,
      headers: {
        authorization: `Bearer ${process.env.MAINSPRING_TOKEN}`,
        "content-type": "application/json",
      },
      body: body && JSON.stringify(body),
    }).catch(() => undefined);
    if (answer?.ok) return answer.status === 204 ? undefined : answer.json();
    if (answer && answer.status < 500 && answer.status !== 429)
      throw new Error(`${answer.status}: ${await answer.text()}`);
    await sleep(pause);
  }
}

// Takes tasks for the free slots of one kind, one claim after another, and starts them.
async function claimLoop(kind) {
  while (!draining) {
    if (free[kind] === 0) { await sleep(20); continue; }
    const claim = randomUUID(), slots = { [kind]: free[kind] };
    asking.add(claim);
    const { tasks, work } = await call("POST", "/claims", { claim, slots, wait_seconds: 5, prepared: true });
    tasks.forEach((task, place) => run(task, work[place]));
    asking.delete(claim);
  }
}

async function run(task, work) {
  const key = `${task.task_id}:${task.term}`;
  const controller = new AbortController();
  hand.set(key, { claim: task.claim_id, stop: () => controller.abort() });
  free[work.kind] -= 1;
  let outcome, printed = "";
  const log = (text) => { printed += text; };
  try {
    const result = await perform(work, controller.signal, log);
    const json = JSON.stringify(result ?? null);
    outcome = { type: "Succeeded", result: Buffer.from(json).toString("base64") };
  } catch (error) {
    outcome = controller.signal.aborted
      ? { type: "Cancelled", reason: "by request" }
      : { type: "Failed", error: { type: error.name, message: error.message } };
  }
  const end = { task: task.task_id, term: task.term };
  const content = Buffer.from(printed).toString("base64");
  if (printed) await call("POST", "/logs", { chunks: [{ ...end, start: 0, content }] });
  await call("POST", "/ends", { ends: [{ ...end, outcome }] });
  hand.delete(key);
  free[work.kind] += 1;
}

function perform(work, signal, log) {
  if (TASKS[work.task]) return TASKS[work.task](work.arguments, log);
  if (work.kind !== "command") throw new Error(`this worker has no task ${work.task}`);
  const [program, ...rest] = work.arguments.arguments.map(String);
  const env = { ...process.env, ...work.arguments.env, MAINSPRING_TOKEN: undefined };
  return new Promise((resolve, reject) => {
    let last = "";
    const timeout = work.timeout_seconds ? work.timeout_seconds * 1000 : undefined;
    const child = spawn(program, rest, { env, signal, timeout, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (data) => { log(data); last += data; });
    child.stderr.on("data", log);
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(last.trimEnd().split("\n").at(-1)) : reject(new Error(`exit code ${code}`)));
  });
}

const known = () => [...new Set([...hand.values()].map((held) => held.claim)), ...asking];

// Renews the lease, stops what somebody wants stopped, and hands back claims whose answer was lost.
async function beat() {
  const { stops, unknown } = await call("POST", "/beats", { claims: known(), draining });
  for (const { task, term } of stops) hand.get(`${task}:${term}`)?.stop();
  const claims = unknown.filter((claim) => !known().includes(claim));
  if (claims.length > 0) await call("POST", "/returns", { claims, reason: "the answer to its claim was lost" });
}

process.on("SIGTERM", () => { draining = true; });
const queues = (process.argv[2] ?? "default").split(",");
const name = `${hostname()}:${process.pid}`;
const { renew_seconds } = await call("PUT", "", { name, queues, slots: SLOTS, host: hostname(), pid: process.pid });
const beating = setInterval(() => beat().catch(fail), renew_seconds * 1000);
await Promise.all(Object.keys(SLOTS).map(claimLoop)).catch(fail);
while (hand.size > 0) await sleep(20);
clearInterval(beating);
await call("DELETE", "");

function fail(error) {
  console.error(error.message);
  process.exit(1); // Whoever watches over it starts it again, under a new id.
}
