import { Client } from '@botpress/client';
import { startDistributed } from '@parley/testing/running-platform';
import { BareSql, openPool, type Recording } from './bare-sql';
import { httpRequest, type LoadResult, runConcurrently, runLoad } from './load';
import type { Result } from './result';
import { type Round, type Side, compareSpeed, alternate, timed, toRow } from './rounds';
import { newLogFile, openEmbedded, poolSize, productEnv, type Workbench } from './workbench';
import { onTappedPlatform } from './tapped-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;
type LoadRound = LoadResult & Round;
interface Candidate extends Side {
  run(seconds: number): Promise<LoadResult>;
}

const installedIntegrations = 20;
const codeBytes = 2_000_000;
const hubIntegrations = 5_000;
/** Concurrent requests during setup. */
const concurrency = 8;
const warmUpSeconds = 1;

/**
 * Compares a bot with much code and many integrations to the same bot without code: unreturned columns must not be
 * read.
 */
export function benchBotEmbedded(bench: Workbench): Promise<Result[]> {
  return benchBot(bench, 'Embedded mode', () => openEmbedded(bench));
}

export function benchBotDistributed(bench: Workbench): Promise<Result[]> {
  const options = { env: productEnv(bench), logFile: newLogFile(bench) };
  return benchBot(bench, 'Distributed mode', async () => bench.session.keep(await startDistributed(options)));
}

async function benchBot(
  bench: Workbench,
  mode: string,
  open: () => Promise<Omit<Platform, 'nats'>>,
): Promise<Result[]> {
  const { options } = bench;
  const platform = await open();
  const client = administrator(platform);
  const ids = await publish(client, installedIntegrations);
  const side = async (name: string, code?: string): Promise<Candidate> => {
    const { bot } = await client.createBot({ code });
    const integrations = Object.fromEntries(ids.map((id, i) => [`alias-${i}`, { integrationId: id, enabled: true }]));
    await client.updateBot({ id: bot.id, integrations });
    const request = httpRequest(`GET /v1/admin/bots/${bot.id}`, headersOf(platform));
    const { connections } = options;
    return {
      name,
      url: platform.url,
      layers: { platform: Object.values(platform.pids), postgres: [bench.postgresPid] },
      processes: platform.pids,
      run: (seconds) => runLoad({ url: platform.url, next: () => request, connections, seconds }),
    };
  };
  const sides = [await side('2 MB of code', 'x'.repeat(codeBytes)), await side('no code')];
  const measured = await measure(bench, sides);
  return [
    {
      title: `${mode}: GET /v1/admin/bots/{id} with ${installedIntegrations} integrations; ${options.connections} connections, ${options.rounds} rounds of ${options.seconds} s`,
      ...report(sides, measured),
      aims: compareSpeed({ name: 'with code / without', atLeast: 0.9 }, measured[0]!, measured[1]!),
      notes: [],
    },
  ];
}

/** Latency of a hub search, one request at a time, compared to its SQL alone. */
export async function benchHub(bench: Workbench): Promise<Result[]> {
  const { session, options } = bench;
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  const platform = await openEmbedded(bench, { DATABASE_URL: database.url });
  await publish(administrator(platform), hubIntegrations);
  const recording = await recordSearch(bench, database.url);
  const pool = openPool({ databaseUrl: database.url, poolSize }, 'hub');
  session.keep({ stop: () => pool.end() });

  const sides = [searchSide(bench, platform), sqlSide(bench, pool, recording)];
  const measured = await measure(bench, sides);
  const p99Ms = Math.max(...measured[0]!.map((round) => round.p99Ms));
  return [
    {
      title: `Embedded mode: GET /v1/admin/hub/integrations with a search among ${hubIntegrations.toLocaleString('en-US')}; one at a time, ${options.rounds} rounds of ${options.seconds} s`,
      ...report(sides, measured),
      aims: [
        { name: 'p99 of the slowest round', value: p99Ms, unit: ' ms', below: 50 },
        ...compareSpeed({ name: 'search / its SQL alone' }, measured[0]!, measured[1]!),
      ],
      notes: ['The SQL is what a tap between product and Postgres recorded; the generator runs it with `pg`.'],
    },
  ];
}

/** Records the SQL of a search from a second platform on the same database. */
function recordSearch(bench: Workbench, databaseUrl: string): Promise<Recording> {
  return onTappedPlatform(bench, databaseUrl, async ({ platform, tap }) => {
    const word = searchedWord(7);
    tap.clear();
    await administrator(platform).listPublicIntegrations({ search: word });
    // Outbox records of recent publications contain such words as well.
    const units = tap.unitsWith(word).filter((unit) => unit.every(({ text }) => text.includes('ts_rank')));
    if (units.length === 0) throw new Error('The Postgres tap recorded no statements for the search.');
    return { units, given: word, answer: {} };
  });
}

function searchSide(bench: Workbench, platform: Platform): Candidate {
  let sent = 0;
  const next = () => httpRequest(`GET /v1/admin/hub/integrations?search=${searchedWord(++sent)}`, headersOf(platform));
  return {
    name: 'Parley, embedded',
    url: platform.url,
    layers: { standalone: [platform.pids['standalone']!], postgres: [bench.postgresPid] },
    processes: platform.pids,
    run: (seconds) => runLoad({ url: platform.url, next, connections: 1, seconds }),
  };
}

function sqlSide(bench: Workbench, pool: ReturnType<typeof openPool>, recording: Recording): Candidate {
  const sql = new BareSql(pool, recording);
  let sent = 0;
  return {
    name: 'its SQL alone',
    url: '',
    layers: { postgres: [bench.postgresPid] },
    processes: {},
    run: (seconds) => runConcurrently([async () => void (await sql.run(searchedWord(++sent)))], seconds),
  };
}

function measure({ session, options }: Workbench, sides: Candidate[]): Promise<LoadRound[][]> {
  return alternate(session, sides, options.rounds, async (side, isWarmUp) => {
    await side.run(warmUpSeconds);
    return timed(side, () => side.run(isWarmUp ? warmUpSeconds : options.seconds));
  });
}

function report(sides: Candidate[], measured: LoadRound[][]): Pick<Result, 'rows' | 'errors' | 'rounds'> {
  return {
    rows: sides.map((side, i) =>
      toRow(side, measured[i]!, 'request', { 'p50 ms': ({ p50Ms }) => p50Ms, 'p99 ms': ({ p99Ms }) => p99Ms }),
    ),
    errors: sides.flatMap(({ name }, i) =>
      measured[i]!.flatMap(({ firstError }) => (firstError ? [`${name}: ${firstError}`] : [])),
    ),
    rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
  };
}

function headersOf({ token, workspaceId }: Pick<Platform, 'token' | 'workspaceId'>): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId, 'x-multiple-integrations': 'true' };
}

function administrator(platform: Pick<Platform, 'url' | 'token' | 'workspaceId'>): Client {
  const { url, token, workspaceId } = platform;
  return new Client({ apiUrl: url, token, workspaceId, headers: { 'x-multiple-integrations': 'true' } });
}

const words = [
  'tea',
  'mail',
  'chart',
  'river',
  'stone',
  'cloud',
  'paper',
  'ticket',
  'garden',
  'signal',
  'letter',
  'sound',
];

function searchedWord(index: number): string {
  return words[index % words.length]!;
}

/** Publishes public integrations with texts, actions and an event; returns their ids. */
async function publish(client: Client, count: number): Promise<string[]> {
  const ids: string[] = [];
  const schema = { type: 'object', properties: { text: { type: 'string' } } };
  const one = async (i: number) => {
    const word = (offset: number) => words[(i * 7 + offset * 5) % words.length]!;
    const { integration } = await client.createIntegration({
      name: `bench-${word(0)}-${i}`,
      version: '1.0.0',
      title: `${word(1)} ${word(2)} ${i}`,
      description: `Brings the ${word(3)} of every ${word(4)} into the conversation.`,
      visibility: 'public',
      configuration: { schema },
      actions: { [`${word(5)}List`]: { title: word(6), input: { schema }, output: { schema } } },
      events: { [`${word(7)}Changed`]: { schema } },
    });
    ids[i] = integration.id;
  };
  const waiting = Array.from({ length: count }, (_, i) => i).values();
  const worker = async () => {
    for (const i of waiting) await one(i);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return ids;
}
