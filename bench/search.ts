import { randomBytes, randomUUID } from 'node:crypto';
import { Database } from '@parley/persistence/database';
import { newUlid } from '@parley/persistence/ids';
import { documentTerms } from '@parley/passages/lexicon';
import { LocalIndexRepository } from '@parley/passages/local-index.repository';
import type { PassagePoint } from '@parley/passages/passage-index';
import { toUnit } from '@parley/passages/vectors';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { httpRequest, runConcurrently, runLoad } from './load';
import { residentMb } from './memory';
import type { Result, Row } from './result';
import { openBot, openEmbedded, type Workbench } from './workbench';

const sizes = [1_000, 10_000, 100_000];
/** Dimensions of the bundled model. */
export const dimensions = 512;
const passagesInFile = 200;
const fileTags = ['red', 'green', 'blue', 'white'];
/** Model name configured for the embedding server below. */
const model = 'bench';
export const query = 'When does the harbour master weigh the crates?';

interface Bot {
  id: string;
  headers: Record<string, string>;
}

/**
 * Latency of searchFiles for bots with 1,000 to 100,000 passages, without embedding: the embedding server answers
 * immediately. Points are written like the worker does, files and passages by SQL.
 */
export async function benchSearch(bench: Workbench): Promise<Result[]> {
  const { session, options } = bench;
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  const vector = randomVector();
  const server = await LoopbackServer.start(json({ data: [{ index: 0, embedding: [...vector] }] }));
  session.keep({ stop: () => server.close() });
  const env = { DATABASE_URL: database.url, EMBEDDINGS_URL: server.url, EMBEDDINGS_MODEL: model };
  const platform = await openEmbedded(bench, env);
  const files = await Database.open({ url: database.url, schema: 'files', migrations: [], poolSize: 4 });
  session.keep({ stop: () => files.close() });
  const bots: Bot[] = [];
  for (const passages of sizes) {
    session.checkpoint();
    const bot = await openBot(platform);
    await fill(files, bot.id, passages);
    bots.push(bot);
  }
  await files.query('VACUUM ANALYZE');

  const rows: Row[] = [];
  const errors: string[] = [];
  for (const [i, passages] of sizes.entries()) {
    const memory = () => residentMb(platform.pids['standalone']!);
    const search = async (seconds: number, tags?: object) => {
      session.checkpoint();
      const path = `/v1/files/search?query=${encodeURIComponent(query)}${tags ? `&tags=${encodeURIComponent(JSON.stringify(tags))}` : ''}`;
      const next = () => httpRequest(`GET ${path}`, bots[i]!.headers);
      const result = await runLoad({ url: platform.url, next, connections: 1, seconds });
      if (result.firstError) errors.push(`${passages} passages: ${result.firstError}`);
      return result;
    };
    const before = memory();
    const firstMs = await firstAnswer(`${platform.url}/v1/files/search?query=ledger`, bots[i]!.headers);
    const warm = await search(options.seconds * options.rounds);
    const tagged = await search(options.seconds * options.rounds, { colour: 'red' });
    const after = memory();
    const scan = await scanned(passages, vector, options.seconds);
    rows.push({
      name: `${passages.toLocaleString('en-US')} passages`,
      figures: {
        'first ms': firstMs,
        'p50 ms': warm.p50Ms,
        'p99 ms': warm.p99Ms,
        'p50 ms, tag': tagged.p50Ms,
        'p99 ms, tag': tagged.p99Ms,
        'bare scan ms': scan,
        'memory MB': after - before,
      },
    });
  }
  return [
    {
      title: `Embedded mode: searchFiles without embedding, by the passages of the bot; one at a time`,
      rows,
      aims: [],
      notes: [
        `Vectors of ${dimensions} dimensions; one file in ${fileTags.length} has the tag. "first" reads the bot into memory.`,
        'The bare scan only finds the nearest among the same number of vectors in one array.',
      ],
      errors,
      rounds: {},
    },
  ];
}

/** Milliseconds until the first successful answer, with retries. */
async function firstAnswer(url: string, headers: Record<string, string>): Promise<number> {
  const start = performance.now();
  while (!(await fetch(url, { headers })).ok);
  return performance.now() - start;
}

/** Milliseconds of a plain scan over this number of vectors. */
async function scanned(count: number, vector: Float32Array, seconds: number): Promise<number> {
  const all = new Float32Array(count * dimensions).fill(0.05);
  const scan = () => {
    let best = -Infinity;
    for (let start = 0; start < all.length; start += dimensions) {
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let i = 0; i < dimensions; i += 4) {
        a += vector[i]! * all[start + i]!;
        b += vector[i + 1]! * all[start + i + 1]!;
        c += vector[i + 2]! * all[start + i + 2]!;
        d += vector[i + 3]! * all[start + i + 3]!;
      }
      best = Math.max(best, a + b + c + d);
    }
    return best;
  };
  const { p50Ms } = await runConcurrently([() => Promise.resolve(scan() > 1e9 ? 'too near' : undefined)], seconds);
  return p50Ms;
}

async function fill(files: Database, botId: string, passages: number): Promise<void> {
  const points = new LocalIndexRepository(files);
  const batches = Array.from({ length: passages / passagesInFile }, (_, number) => number).values();
  const worker = async () => {
    for (const number of batches) await writeFile(files, points, botId, number);
  };
  await Promise.all([worker(), worker(), worker()]);
}

async function writeFile(files: Database, points: LocalIndexRepository, botId: string, number: number): Promise<void> {
  const [fileId, version] = [`file_${newUlid()}`, newUlid()];
  const tags = { colour: fileTags[number % fileTags.length]! };
  const texts = Array.from({ length: passagesInFile }, randomText);
  const ids = texts.map(() => randomUUID());
  await files.query(
    `INSERT INTO file (id, bot_id, key, content_type, declared_size, size, tags, metadata, access_policies, index, indexing,
       immediately_public, status, upload_id, upload_expires_at, blob_version, content_version, active_version)
     VALUES ($1, $2, $1, 'text/plain', 1, 1, $3, '{}', '{}', true, '{}', false, 'indexing_completed', $4, now(), $4, $4, $4)`,
    [fileId, botId, JSON.stringify(tags), version],
  );
  await files.query(
    `INSERT INTO passage (file_id, content_version, position, id, bot_id, content, subtype, breadcrumb)
     SELECT $1, $2, place - 1, id, $3, content, 'paragraph', '{}'
     FROM unnest($4::uuid[], $5::text[]) WITH ORDINALITY AS passage (id, content, place)`,
    [fileId, version, botId, ids, texts],
  );
  await points.upsertPoints(
    botId,
    model,
    texts.map((text, i): PassagePoint => {
      const [id, vector, terms] = [ids[i]!, randomVector(), documentTerms(text)];
      return { id, fileId, contentVersion: version, vector, terms, tags };
    }),
  );
}

export function randomVector(): Float32Array {
  const bytes = new Int8Array(randomBytes(dimensions));
  return toUnit(Float32Array.from(bytes))!;
}

const commonWords = `${query} the a of and to in is it for on with as by at from that this be are or not`.split(/\W+/);
const rareWords = 20_000;

/** About 130 words with a skewed distribution: few common and many rare words. */
export function randomText(): string {
  return Array.from({ length: 130 }, () => {
    const random = Math.random();
    if (random < 0.4) return commonWords[Math.floor(Math.random() * commonWords.length)];
    return `word${Math.floor(rareWords * Math.random() ** 3)}`;
  }).join(' ');
}
