import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';
import { Checker } from '../checker/checker';
import { Ledger } from '../checker/ledger';
import { Load } from '../load';
import { type LoadReport, RecordedRequests } from '../recorded-requests';
import { Chronicle } from './chronicle';
import type { Harm } from './harm';
import { described, kindOf } from './outcomes';
import { Random } from './random';
import type { Stage } from './stage';
import { Writer } from './writer';

const stateName = 'progress';
const writerCount = 6;
const pauseBetweenMs = 60;
const filesPerSecond = 12;
const mostAtOnce = 2;
/** Time to settle: a killed worker's job is abandoned after 15 s, an event is redelivered after 30 s; the rest is work. */
const restsWithinMs = 180_000;
const calmAnswers = 100;

export interface ChaosPlan {
  seed: number;
  /** Faults in order; all of them without `seconds`. */
  harms: Iterable<Harm>;
  /** No fault begins later than this. */
  seconds?: number;
  tell(line: string): void;
  signal: AbortSignal;
}

export interface ChaosReport {
  requests: Record<string, number>;
  harms: Record<string, number>;
  files: Record<string, number>;
  writes: Record<string, number>;
  settledMs: number;
  /** Errors that clients must not get, each with the faults before it. */
  unclean: string[];
  violations: string[];
}

/** Runs clients during faults; then lets the platform settle and compares it with the acknowledged writes. */
export async function runChaos(stage: Stage, plan: ChaosPlan): Promise<ChaosReport> {
  const { fleet } = stage;
  const ledger = new Ledger();
  const chronicle = new Chronicle();
  const { bot } = await clientOf(fleet).createBot({
    states: { [stateName]: { type: 'conversation', schema: { type: 'object', additionalProperties: true } } },
  });
  ledger.bot(bot.id);
  const requests = new RecordedRequests(fleet, bot.id);
  const load = new Load(fleet, ledger, bot.id, { requestsPerSecond: filesPerSecond, indexEvery: 1 });
  const stopping = new AbortController();
  const writers = await makeWriters(stage, bot.id, ledger, requests, plan.seed);
  await load.start();
  const writing = writers.map((writer) => writer.run(stopping.signal, pauseBetweenMs));

  let calm: string[];
  try {
    await doHarm(stage, plan, chronicle);
    await fleetIsReady(stage);
    plan.tell('all faults are over');
    calm = await calmDown(load, requests, chronicle);
  } finally {
    stopping.abort();
    await Promise.all([...writing, load.stop()]);
    requests.close();
  }
  const reports = [await load.stop(), requests.report];

  await letTimePass(fleet.databaseUrl);
  const healedAt = performance.now();
  const findings = await new Checker(stage.examined, ledger).findings(restsWithinMs);
  const failures = reports.flatMap((report) => report.failures);
  const unclean = failures.filter((failure) => kindOf(failure, chronicle) === 'unclean');
  return {
    requests: countOutcomes(reports, chronicle),
    harms: chronicle.counts,
    files: await countFiles(fleet.databaseUrl),
    writes: countWrites(ledger),
    settledMs: Math.round(performance.now() - healedAt),
    unclean: [...calm, ...unclean.map((failure) => described(failure, chronicle))],
    violations: findings.map((finding) => `${finding}${nearOf(finding, chronicle)}`),
  };
}

async function makeWriters(
  { fleet }: Stage,
  botId: string,
  ledger: Ledger,
  requests: RecordedRequests,
  seed: number,
): Promise<Writer[]> {
  const client = clientOf(fleet, botId);
  const columns = { name: { type: 'string' }, value: { type: 'number' } };
  const { table } = await client.createTable({ name: 'NotedTable', schema: { type: 'object', properties: columns } });
  const { user } = await client.createUser({ tags: {} });
  const newConversation = async () => {
    const { conversation } = await client.createConversation({ channel: 'channel', integrationName: 'chat', tags: {} });
    return ledger.conversation(botId, conversation.id, stateName);
  };
  const shared = { table: ledger.table(botId, table.id), meeting: await newConversation(), userId: user.id };
  return Promise.all(
    Array.from({ length: writerCount }, async (_, number) => {
      const desk = { ...shared, conversation: await newConversation() };
      return new Writer(`w${number}`, requests, ledger, desk, new Random(seed + number + 1));
    }),
  );
}

async function doHarm(
  stage: Stage,
  { seed, harms, seconds = Infinity, signal, tell }: ChaosPlan,
  chronicle: Chronicle,
) {
  const random = new Random(seed);
  const underWay = new Map<string, Promise<void>>();
  const errors: unknown[] = [];
  const deadline = performance.now() + 1000 * seconds;
  for (const harm of harms) {
    if (underWay.has(harm.target)) await underWay.get(harm.target);
    while (underWay.size >= mostAtOnce) await Promise.race(underWay.values());
    if (signal.aborted || errors.length > 0 || performance.now() > deadline) break;
    tell(`${harm.kind} (${harm.target})`);
    const healed = chronicle.begin(harm.kind, harm.target);
    const happening = harm
      .happen(stage)
      .catch((error: unknown) => void errors.push(error))
      .finally(() => {
        healed();
        underWay.delete(harm.target);
      });
    underWay.set(harm.target, happening);
    await sleep(random.between(500, 3_000));
  }
  await Promise.all(underWay.values());
  if (errors.length > 0) throw errors[0];
}

async function fleetIsReady({ fleet }: Stage): Promise<void> {
  await waitFor(
    async () => (await Promise.all(fleet.all.map((replica) => replica.isReady()))).every(Boolean),
    Boolean,
    60_000,
  );
  await Promise.all(fleet.balancers.map((balancer) => balancer.allReady()));
}

/** Earlier requests may still wait for their deadline; every later one must succeed. */
async function calmDown(load: Load, requests: RecordedRequests, chronicle: Chronicle): Promise<string[]> {
  await sleep(11_000);
  const since = Date.now();
  const answered = () => load.answered + requests.report.answered;
  const enough = answered() + calmAnswers;
  await waitFor(answered, (count) => count >= enough, 60_000);
  return [...load.failures, ...requests.report.failures]
    .filter(({ endedAt, tookMs }) => endedAt - tookMs > since)
    .map((failure) => `after all faults were over: ${described(failure, chronicle)}`);
}

/** Makes work due at once that sweepers leave for up to ten minutes because its process may still run. */
async function letTimePass(databaseUrl: string): Promise<void> {
  await query(
    databaseUrl,
    `UPDATE files.upload SET touched_at = touched_at - interval '10 minutes';
     UPDATE files.work SET due_at = due_at - interval '10 minutes' WHERE state = 'waiting'`,
  );
}

function countOutcomes(reports: LoadReport[], chronicle: Chronicle): Record<string, number> {
  const counts: Record<string, number> = { ok: reports.reduce((sum, { answered }) => sum + answered, 0) };
  for (const failure of reports.flatMap(({ failures }) => failures)) {
    const kind = kindOf(failure, chronicle);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function countWrites({ tables, conversations }: Ledger): Record<string, number> {
  const count = (lists: Map<string, { state: unknown }>[]) =>
    lists.flatMap((values) => [...values.values()]).filter(({ state }) => state !== undefined).length;
  return {
    rows: count(tables.map(({ rows }) => rows)),
    messages: count(conversations.map(({ messages }) => messages)),
    tags: count(conversations.map(({ tags }) => tags)),
    'entries of a state': count(conversations.map(({ state }) => state.entries)),
  };
}

async function countFiles(databaseUrl: string): Promise<Record<string, number>> {
  const rows = await query<{ status: string; count: string }>(
    databaseUrl,
    'SELECT status, count(*) FROM files.file GROUP BY status ORDER BY status',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}

async function query<Row>(databaseUrl: string, text: string): Promise<Row[]> {
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  const { rows } = await database.query(text);
  await database.end();
  return rows as Row[];
}

function nearOf(finding: string, chronicle: Chronicle): string {
  return [...finding.matchAll(/(\w+) at ([^)]+Z)\)/g)]
    .map(([, what, at]) => `\n    near ${what}: ${chronicle.near(Date.parse(at!))}`)
    .join('');
}
