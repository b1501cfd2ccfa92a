import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { Client } from 'pg';
import { Fleet } from './fleet';
import { Checker } from './checker/checker';
import { document, Ledger } from './checker/ledger';

jest.setTimeout(120_000);
const suite = hasNatsServer() ? describe : describe.skip;

/** What each breakage does to the file, and what the checker has to say of it. */
interface Breakage {
  name: string;
  break: (file: BrokenFile) => Promise<unknown>;
  finding: RegExp;
}

interface BrokenFile {
  id: string;
  /** Below the folder of blobs. */
  blob: string;
  database: Client;
  fleet: Fleet;
}

const sql = (text: string) => (file: BrokenFile) => file.database.query(text, [file.id]);

const breakages: Breakage[] = [
  {
    name: 'a passage that is gone',
    break: sql('DELETE FROM files.passage WHERE file_id = $1 AND position = 0'),
    finding: /has a gap or a repeat|has a vector without a passage/,
  },
  {
    name: 'a passage that is there twice',
    break:
      sql(`INSERT INTO files.passage SELECT file_id, content_version, position + 1000, id, bot_id, content, subtype,
      page_number, breadcrumb FROM files.passage WHERE file_id = $1 AND position = 0`),
    finding: /has a gap or a repeat|times in its passages/,
  },
  {
    name: 'a passage of a version that nobody sees',
    break:
      sql(`INSERT INTO files.passage SELECT file_id, 'another', position, gen_random_uuid(), bot_id, content, subtype,
      page_number, breadcrumb FROM files.passage WHERE file_id = $1`),
    finding: /has a passage that readers do not see/,
  },
  {
    name: 'a vector that has lost its passage',
    break:
      sql(`INSERT INTO files.local_index_point SELECT bot_id, gen_random_uuid(), model, file_id, content_version, vector,
      term_indices, term_values, tags, revision FROM files.local_index_point WHERE file_id = $1`),
    finding: /has a vector without a passage/,
  },
  {
    name: 'a passage that has lost its vector',
    break: sql('DELETE FROM files.local_index_point WHERE file_id = $1'),
    finding: /has a passage without a vector/,
  },
  {
    name: 'a status that says more than is there',
    break: sql(`UPDATE files.file SET active_version = NULL WHERE id = $1`),
    finding: /has a status that its contents contradict/,
  },
  {
    name: 'a file that did not come to its end',
    break: sql(`UPDATE files.file SET status = 'indexing_failed' WHERE id = $1`),
    finding: /ended as indexing_failed/,
  },
  {
    name: 'a file that nobody deleted and that is gone',
    break: sql('DELETE FROM files.file WHERE id = $1'),
    finding: /and was promised to be/,
  },
  {
    name: 'a content that is gone',
    break: ({ fleet, blob }) => rm(join(fleet.blobsDir, blob)),
    finding: /is not stored|could not be asked/,
  },
  {
    name: 'a content that has changed',
    break: ({ fleet, blob }) => writeFile(join(fleet.blobsDir, blob), 'something else'),
    finding: /and was promised to be|could not be asked/,
  },
  {
    name: 'a stray content',
    break: ({ fleet, blob }) => writeFile(join(fleet.blobsDir, `${blob}x`), 'stray'),
    finding: /is stored and belongs to no file/,
  },
  {
    name: 'an upload without an end',
    break: sql(`INSERT INTO files.upload (content_version, bot_id, file_id) SELECT 'never', bot_id, id FROM files.file
      WHERE id = $1`),
    finding: /^1 uploads under way/,
  },
  {
    name: 'a job that nobody does',
    break:
      sql(`INSERT INTO files.indexing_job (file_id, content_version, bot_id, heartbeat_at) SELECT id, 'never', bot_id,
      now() FROM files.file WHERE id = $1`),
    finding: /^1 indexing jobs/,
  },
  {
    name: 'a dead letter',
    break: sql(`INSERT INTO files.dead_letter (id, consumer, event_id, subject, data, attempts, reason)
      VALUES ('dead_1', 'nobody', $1, 'files.uploaded', '{}', 1, 'a test')`),
    finding: /^1 dead letters of files/,
  },
];

suite('The checker', () => {
  let embeddings: EmbeddingServer;
  let fleet: Fleet;
  let database: Client;

  beforeAll(async () => {
    embeddings = await EmbeddingServer.start();
    fleet = await Fleet.start({ env: { EMBEDDINGS_URL: embeddings.url, SWEEP_INTERVAL_MS: '500' } });
    database = new Client({ connectionString: fleet.databaseUrl });
    await database.connect();
  });

  afterAll(async () => {
    await database?.end();
    await fleet?.stop();
    await embeddings?.stop();
  });

  it('finds nothing wrong with a platform at rest, and each thing that is broken in it', async () => {
    const { bot } = await clientOf(fleet).createBot({});
    const prepared = await Promise.all(
      breakages.map(async (breakage, place) => ({ breakage, ...(await upload(bot.id, `broken${place}`)) })),
    );
    for (const { ledger } of prepared) expect(await new Checker(fleet, ledger).findings(20_000)).toEqual([]);

    // The platform stands still from here on, so that it mends nothing.
    fleet.the('files-worker').signal('SIGSTOP');
    const said: Record<string, boolean> = {};
    for (const { breakage, ledger, id } of prepared) {
      const { rows } = await database.query<{ blob: string }>(
        `SELECT bot_id || '/' || id || '/' || content_version AS blob FROM files.file WHERE id = $1`,
        [id],
      );
      await breakage.break({ id, blob: rows[0]!.blob, database, fleet });
      const findings = await new Checker(fleet, ledger).findings(0);
      said[breakage.name] = findings.some((finding) => {
        const isOfFile = finding.includes(id) || finding.startsWith('1 ');
        return isOfFile && breakage.finding.test(finding);
      });
    }

    expect(said).toEqual(Object.fromEntries(breakages.map(({ name }) => [name, true])));
  });

  /** A file that was indexed, and a ledger that knows of it alone. */
  async function upload(botId: string, name: string) {
    const ledger = new Ledger();
    ledger.bot(botId);
    const { text, content } = document(name, 3);
    const { file } = await clientOf(fleet, botId).upsertFile({
      key: `${name}.txt`,
      size: text.length,
      contentType: 'text/plain',
      index: true,
    });
    const promised = ledger.declared({ botId, id: file.id, index: true });
    const acknowledge = ledger.attempt(promised, content);
    expect((await put(file.uploadUrl, text, { 'content-type': 'text/plain' })).status).toBe(200);
    acknowledge();
    return { ledger, id: file.id };
  }
});
