import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type ApiAddress, ApiClient } from './api-client';
import { type Bucket, listBucket } from './bucket';
import { type Content, type FileState, type Ledger, type PromisedFile, sha256 } from './ledger';
import { patientFetch } from './patient-fetch';
import { passagesIn, type Qdrant, vectorsInPostgres, vectorsInQdrant, wrongVectors } from './vectors';
import { brokenPromises, outOfOrder, whenOf } from './values';

export interface Examined extends ApiAddress {
  databaseUrl: string;
  blobsDir: string;
  /** S3 instead of the folder. */
  bucket?: Bucket;
  /** Qdrant instead of the index in Postgres. */
  qdrant?: Qdrant;
}

const schemas = ['admin', 'hub', 'files', 'tables', 'chat', 'runtime', 'models'];

/** Counts that must be 0 once the platform has settled, by their name in a finding. */
const leftovers: Record<string, string> = {
  'indexing jobs': 'SELECT count(*) FROM files.indexing_job',
  'files to clean up': `SELECT count(*) FROM files.work WHERE queue IN ('files.cleanup', 'files.retag')`,
  'uploads in progress': 'SELECT count(*) FROM files.upload',
  ...Object.fromEntries(
    schemas.flatMap((schema) => [
      [`unpublished events of ${schema}`, `SELECT count(*) FROM ${schema}.outbox WHERE published_at IS NULL`],
      [`dead letters of ${schema}`, `SELECT count(*) FROM ${schema}.dead_letter`],
    ]),
  ),
};

/** State of each remaining job, so that a failure in CI names its cause. */
const jobsLeft = `
  SELECT string_agg(format('%s, attempts %s, announcements %s%s', stage, attempts, announcements, ': ' || last_error), '; '
    ORDER BY created_at) AS jobs FROM files.indexing_job`;

/** Invariants at any time: each query lists violations. */
const offences: Record<string, string> = {
  'a passage outside of its active content version': `
    SELECT DISTINCT p.file_id AS id FROM files.passage p LEFT JOIN files.file f ON f.id = p.file_id
    WHERE f.id IS NULL OR p.content_version IS DISTINCT FROM f.active_version`,
  'a gap or a duplicate in the positions of its passages': `
    SELECT file_id AS id FROM files.passage GROUP BY file_id, content_version
    HAVING count(*) <> max(position) + 1 OR count(DISTINCT id) <> count(*)`,
  'a number of messages that differs from its clock': `
    SELECT conversation_id AS id FROM chat.conversation_clock c WHERE message_count <> (
      SELECT count(*) FROM chat.message m WHERE m.bot_id = c.bot_id AND m.conversation_id = c.conversation_id)`,
  'a gap or a duplicate in its signals': `
    SELECT s.conversation_id AS id FROM chat.signal s JOIN chat.conversation_clock c USING (bot_id, conversation_id)
    GROUP BY s.bot_id, s.conversation_id, c.signal_count
    HAVING count(*) <> max(number) - min(number) + 1 OR count(DISTINCT number) <> count(*) OR max(number) <> c.signal_count`,
  'a status that contradicts its contents': `
    SELECT id FROM files.file WHERE (status = 'indexing_completed' AND active_version IS DISTINCT FROM content_version)
      OR (status IN ('upload_pending', 'upload_failed') AND coalesce(blob_version, content_version, active_version) IS NOT NULL)
      OR (status NOT IN ('upload_pending', 'upload_failed') AND (blob_version IS NULL OR content_version IS NULL))`,
};

/**
 * Compares acknowledged writes with the actual state. Independent: shares no code with the platform and uses only its
 * public API, its own SQL, the APIs of Qdrant and S3, and the disk.
 */
export class Checker {
  private readonly asker: ApiClient;

  constructor(
    private readonly examined: Examined,
    private readonly ledger: Ledger,
  ) {
    this.asker = new ApiClient(examined);
  }

  /** Waits until no work is in progress, at most `timeoutMs`, then returns all findings. */
  async findings(timeoutMs: number): Promise<string[]> {
    const database = new Client({ connectionString: this.examined.databaseUrl });
    await database.connect();
    try {
      const unrest = await this.rest(database, Date.now() + timeoutMs);
      const wrong = [...(await this.consistency(database)), ...(await this.vectors(database))];
      return [...unrest, ...wrong, ...(await this.blobs(database)), ...(await this.promises())];
    } finally {
      await database.end();
    }
  }

  private async rest(database: Client, deadline: number): Promise<string[]> {
    for (;;) {
      const unrest: string[] = [];
      for (const [name, question] of Object.entries(leftovers)) {
        const { rows } = await database.query<{ count: string }>(question);
        if (rows[0]!.count !== '0') unrest.push(`${rows[0]!.count} ${name}`);
      }
      if (unrest.length === 0) return [];
      if (Date.now() > deadline) return [...unrest, ...(await this.describeJobs(database))];
      await sleep(100);
    }
  }

  private async describeJobs(database: Client): Promise<string[]> {
    const { rows } = await database.query<{ jobs: string | null }>(jobsLeft);
    return rows[0]!.jobs === null ? [] : [`indexing jobs: ${rows[0]!.jobs}`];
  }

  private async consistency(database: Client): Promise<string[]> {
    const findings: string[] = [];
    for (const [name, question] of Object.entries(offences)) {
      const { rows } = await database.query<{ id: string }>(question);
      findings.push(...rows.map(({ id }) => `${id} has ${name}`));
    }
    return findings;
  }

  /** Every passage must have a vector, and every vector a passage. */
  private async vectors(database: Client): Promise<string[]> {
    const { qdrant } = this.examined;
    const vectors = await (qdrant ? vectorsInQdrant(qdrant) : vectorsInPostgres(database));
    return wrongVectors(await passagesIn(database), vectors);
  }

  /** Every accepted content must have a blob, and every blob a file. */
  private async blobs(database: Client): Promise<string[]> {
    const { rows } = await database.query<{ path: string }>(
      `SELECT bot_id || '/' || id || '/' || blob_version AS path FROM files.file WHERE blob_version IS NOT NULL`,
    );
    const expected = new Set(rows.map(({ path }) => path));
    const { bucket, blobsDir } = this.examined;
    const stored = new Set(await (bucket ? listBucket(bucket) : listFiles(blobsDir)));
    return [
      ...[...expected].filter((path) => !stored.has(path)).map((path) => `the content ${path} is not stored`),
      ...[...stored].filter((path) => !expected.has(path)).map((path) => `${path} is stored and belongs to no file`),
    ];
  }

  private async promises(): Promise<string[]> {
    const findings: string[] = [];
    for (const botId of this.ledger.bots) {
      if ((await this.asker.ask(`/v1/admin/bots/${botId}`)).status !== 200)
        findings.push(`the bot ${botId} does not exist`);
    }
    for (const file of this.ledger.files) findings.push(...(await this.promiseOf(file)));
    for (const { botId, id, rows } of this.ledger.tables) {
      findings.push(...brokenPromises(`${id} row`, rows, await this.asker.rows(botId, id)));
    }
    for (const { botId, id, messages, tags, state } of this.ledger.conversations) {
      const found = await this.asker.messages(botId, id);
      const texts = new Map(
        found.map(({ text }) => [text, found.filter((one) => one.text === text).map(() => 'said')]),
      );
      findings.push(
        ...brokenPromises(`${id} message`, messages, texts),
        ...outOfOrder(id, messages, found),
        ...brokenPromises(`${id} tag`, tags, await this.asker.tags(botId, id)),
        ...brokenPromises(`${id} ${state.name}`, state.entries, await this.asker.state(botId, id, state.name)),
      );
    }
    return findings;
  }

  private async promiseOf(file: PromisedFile): Promise<string[]> {
    const allowed = [file.state, ...file.possible];
    const { status, body } = await this.asker.ask(`/v1/files/${file.id}`, file.botId);
    const found = status === 404 ? 'deleted' : (body as { file: ShownFile }).file;
    const hash =
      found === 'deleted' || withoutContent.includes(found.status) ? undefined : await contentHash(found.url);
    const state = allowed.find((candidate) => isIn(candidate, found, hash));
    if (!state) {
      const is = found === 'deleted' ? found : `${found.status} with the content ${hash}`;
      return [`${file.id} is ${is}, expected ${JSON.stringify(allowed)}${whenOf(file)}`];
    }
    if (typeof state === 'string' || !file.index || found === 'deleted') return [];
    if (found.status !== 'indexing_completed') return [`${file.id} ended as ${found.status}`];
    return this.marksOf(file, state);
  }

  /** Each mark of the content must occur once in its passages. */
  private async marksOf(file: PromisedFile, { marks }: Content): Promise<string[]> {
    let text = '';
    for (let next: string | undefined = ''; next !== undefined;) {
      const token = next && `&nextToken=${encodeURIComponent(next)}`;
      const { body } = await this.asker.ask(`/v1/files/${file.id}/passages?limit=200${token}`, file.botId);
      const { passages, meta } = body as { passages: { content: string }[]; meta: { nextToken?: string } };
      text += passages.map(({ content }) => `${content}\n`).join('');
      next = meta.nextToken;
    }
    return marks
      .map((mark) => ({ mark, count: text.split(mark).length - 1 }))
      .filter(({ count }) => count !== 1)
      .map(({ mark, count }) => `${file.id} has ${mark} ${count} times in its passages`);
  }
}

const withoutContent = ['upload_pending', 'upload_failed'];

interface ShownFile {
  status: string;
  url: string;
}

function isIn(state: FileState, found: ShownFile | 'deleted', hash: string | undefined): boolean {
  if (found === 'deleted' || state === 'deleted') return found === state;
  return state === 'declared' ? hash === undefined : hash === state.sha256;
}

async function contentHash(url: string): Promise<string> {
  const response = await patientFetch(url);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return response.ok ? sha256(bytes) : `that is answered with ${response.status}`;
}

/** Paths of all files below the folder, without temporary files of killed writers. */
async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.startsWith('incoming/'));
}
