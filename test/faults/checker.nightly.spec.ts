import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { S3Server } from '@parley/testing/s3-server';
import { Client } from 'pg';
import { Checker, type Examined } from './checker/checker';
import { Ledger, type PromisedConversation, type PromisedTable } from './checker/ledger';
import { Fleet } from './fleet';
import { declare, type DeclaredFile } from './promised-file';
import { StandInQdrant } from './stand-in-qdrant';

jest.setTimeout(180_000);
const suite = hasNatsServer() ? describe : describe.skip;

interface Scene extends DeclaredFile {
  ledger: Ledger;
  sql(text: string): Promise<unknown>;
  contents: Contents;
  vectors: Vectors;
  blobName: string;
}

interface Contents {
  lose(name: string): Promise<unknown>;
  put(name: string, text: string): Promise<unknown>;
}

interface Vectors {
  lose(): Promise<unknown>;
  /** Adds a vector for a passage that never existed. */
  addOfNone(): Promise<unknown>;
  /** Assigns the vector to this file. */
  misplace(fileId: string): Promise<unknown>;
}

/** Damages an indexed file of three passages, and returns the expected findings. */
type Damage = (scene: Scene) => Promise<unknown[]>;

const damages: Record<string, Damage> = {
  'a passage that is lost': async ({ id, marks, sql }) => {
    await sql('DELETE FROM files.passage WHERE file_id = $1 AND position = 1');
    return [
      `${id} has a gap or a duplicate in the positions of its passages`,
      `${id} has a vector without a passage`,
      `${id} has ${marks[1]} 0 times in its passages`,
    ];
  },
  'a passage that is there twice': async ({ id, marks, sql }) => {
    await sql(`INSERT INTO files.passage
      SELECT file_id, content_version, 3, id, bot_id, content, subtype, page_number, breadcrumb
      FROM files.passage WHERE file_id = $1 AND position = 2`);
    return [
      `${id} has a gap or a duplicate in the positions of its passages`,
      `${id} has ${marks[2]} 2 times in its passages`,
    ];
  },
  'passages of a content that is not the active one': async ({ id, marks, sql }) => {
    await sql(`UPDATE files.passage SET content_version = 'older' WHERE file_id = $1`);
    return [
      `${id} has a passage outside of its active content version`,
      `${id} has a vector without a passage`,
      ...marks.map((mark) => `${id} has ${mark} 0 times in its passages`),
    ];
  },
  'a vector that is lost': async ({ id, vectors }) => {
    await vectors.lose();
    return [`${id} has a passage without a vector`];
  },
  'a vector that belongs to no passage': async ({ id, vectors }) => {
    await vectors.addOfNone();
    return [`${id} has a vector without a passage`];
  },
  'a vector that counts for another file': async ({ id, vectors }) => {
    await vectors.misplace(`${id}-other`);
    return [`${id}-other has a vector without a passage`];
  },
  'a content that is lost': async ({ contents, blobName, id }) => {
    await contents.lose(blobName);
    return [`the content ${blobName} is not stored`, promiseBroken(id, 'indexing_completed with the content that is')];
  },
  'a content that has changed': async ({ contents, blobName, id, text }) => {
    await contents.put(blobName, text.replace('ships', 'chips'));
    return [promiseBroken(id, 'indexing_completed with the content')];
  },
  'a blob that belongs to no file': async ({ contents, blobName }) => {
    await contents.put(`${blobName}x`, 'stray');
    return [`${blobName}x is stored and belongs to no file`];
  },
  'a file that was never indexed to its end': async ({ id, sql }) => {
    await sql(`UPDATE files.file SET status = 'indexing_pending' WHERE id = $1`);
    return [`${id} ended as indexing_pending`];
  },
  'a file that counts as indexed without passages': async ({ id, marks, sql }) => {
    await sql('UPDATE files.file SET active_version = NULL WHERE id = $1');
    return [
      `${id} has a passage outside of its active content version`,
      `${id} has a status that contradicts its contents`,
      ...marks.map((mark) => `${id} has ${mark} 0 times in its passages`),
    ];
  },
  'a content that was forgotten': async ({ id, sql }) => {
    await sql(`UPDATE files.file SET status = 'upload_pending' WHERE id = $1`);
    return [`${id} has a status that contradicts its contents`, promiseBroken(id, 'upload_pending')];
  },
  'a file that nobody has deleted': async ({ blobName, id, sql }) => {
    await sql('DELETE FROM files.file WHERE id = $1');
    return [
      `${id} has a passage outside of its active content version`,
      `${blobName} is stored and belongs to no file`,
      promiseBroken(id, 'deleted'),
    ];
  },
  'a file whose deletion was acknowledged': async ({ id, ledger, promised }) => {
    ledger.attempt(promised, 'deleted')();
    return [promiseBroken(id, 'indexing_completed')];
  },
};

/** Stores of contents and vectors, with their ways to damage them. */
interface Stores {
  env: Record<string, string>;
  /** Where the checker finds them; default: the folder and Postgres. */
  examined: Pick<Examined, 'bucket' | 'qdrant'>;
  contents(fleet: Fleet): Contents;
  vectors(sql: Scene['sql'], fileId: string): Vectors;
  stop(): Promise<void>;
}

function folderAndPostgres(): Promise<Stores> {
  const first = '(SELECT id FROM files.passage WHERE file_id = $1 AND position = 0)';
  return Promise.resolve({
    env: {},
    examined: {},
    contents: ({ blobsDir }) => ({
      lose: (name) => rm(join(blobsDir, name)),
      put: (name, text) => writeFile(join(blobsDir, name), text),
    }),
    vectors: (sql) => ({
      lose: () => sql(`DELETE FROM files.local_index_point WHERE id = ${first}`),
      addOfNone: () =>
        sql(`INSERT INTO files.local_index_point SELECT bot_id, gen_random_uuid(), model, file_id, content_version,
          vector, term_indices, term_values, tags, revision FROM files.local_index_point WHERE file_id = $1 LIMIT 1`),
      misplace: (fileId) => sql(`UPDATE files.local_index_point SET file_id = '${fileId}' WHERE id = ${first}`),
    }),
    stop: () => Promise.resolve(),
  });
}

async function bucketAndQdrant(): Promise<Stores> {
  const [s3, qdrant] = await Promise.all([S3Server.start(), StandInQdrant.start()]);
  const pointsOf = (fileId: string) => {
    const [points] = qdrant.collections.values();
    return { points: points!, point: qdrant.points.find(({ payload }) => payload['fileId'] === fileId)! };
  };
  return {
    env: { ...s3.env, QDRANT_URL: qdrant.url },
    examined: {
      bucket: {
        endpoint: s3.env.S3_ENDPOINT,
        bucket: s3.env.S3_BUCKET,
        region: 'us-east-1',
        pathStyle: true,
        accessKeyId: s3.env.S3_ACCESS_KEY_ID,
        secretAccessKey: s3.env.S3_SECRET_ACCESS_KEY,
      },
      qdrant: { url: qdrant.url, collections: 'parley_' },
    },
    contents: () => ({
      lose: (name) => Promise.resolve(s3.objects.delete(name)),
      put: (name, text) => Promise.resolve(s3.objects.set(name, Buffer.from(text))),
    }),
    vectors: (_sql, ofFile) => ({
      lose: () => {
        const { points, point } = pointsOf(ofFile);
        return Promise.resolve(points.delete(point.id));
      },
      addOfNone: () => {
        const { points, point } = pointsOf(ofFile);
        const [id, passageId] = [randomUUID(), randomUUID()];
        return Promise.resolve(points.set(id, { id, payload: { ...point.payload, passageId } }));
      },
      misplace: (fileId) => Promise.resolve(Object.assign(pointsOf(ofFile).point.payload, { fileId })),
    }),
    stop: async () => {
      await Promise.all([s3.stop(), qdrant.stop()]);
    },
  };
}

suite.each([
  ['a folder and Postgres', folderAndPostgres],
  ['a bucket and Qdrant', bucketAndQdrant],
])('The checker with %s', (_stores, openStores) => {
  const ledger = new Ledger();
  const scenes = new Map<string, Scene>();
  let embeddings: EmbeddingServer;
  let stores: Stores;
  let fleet: Fleet;
  let database: Client;

  beforeAll(async () => {
    embeddings = await EmbeddingServer.start();
    stores = await openStores();
    fleet = await Fleet.start({
      replicasOf: { runtime: 0, runner: 0 },
      env: { EMBEDDINGS_URL: embeddings.url, SWEEP_INTERVAL_MS: '200', ...stores.env },
    });
    database = new Client({ connectionString: fleet.databaseUrl });
    await database.connect();
    const { bot } = await clientOf(fleet).createBot({});
    ledger.bot(bot.id);
    await Promise.all(Object.keys(damages).map((name) => uploadFor(name, bot.id)));
  });

  afterAll(async () => {
    await database?.end();
    await fleet?.stop();
    await stores?.stop();
    await embeddings?.stop();
  });

  async function uploadFor(name: string, botId: string): Promise<void> {
    const file = await declare(fleet, ledger, botId, name.replaceAll(' ', '-'));
    expect(await file.upload()).toBe(200);
    const { rows } = await database.query<{ version: string }>(
      'SELECT content_version AS version FROM files.file WHERE id = $1',
      [file.id],
    );
    const blobName = `${botId}/${file.id}/${rows[0]!.version}`;
    const sql = (text: string) => database.query(text, [file.id]);
    const [contents, vectors] = [stores.contents(fleet), stores.vectors(sql, file.id)];
    scenes.set(name, { ...file, ledger, sql, blobName, contents, vectors });
  }

  /** A change of a file is reported to admin in the background, so the platform is not settled until then. */
  const check = (timeoutMs = 60_000) => {
    const { url, token, workspaceId, databaseUrl, blobsDir } = fleet;
    const examined = { url, token, workspaceId, databaseUrl, blobsDir, ...stores.examined };
    return new Checker(examined, ledger).findings(timeoutMs);
  };

  it('finds no loss when the state is as acknowledged', async () => {
    expect(await check()).toEqual([]);
  });

  it.each(Object.entries(damages))('finds the damage: %s', async (name, damage) => {
    const before = await check();

    const expected = await damage(scenes.get(name)!);

    expect((await check()).filter((finding) => !before.includes(finding))).toEqual(expected);
  });

  describe('for written data', () => {
    const names = ['first', 'second', 'third'];
    let table: PromisedTable;
    let talk: PromisedConversation;

    const checkThem = async () =>
      (await check()).filter((found) => found.startsWith(table.id) || found.startsWith(talk.id)).map(withoutIds);

    beforeEach(async () => {
      const { bot } = await clientOf(fleet).createBot({ states: { notes: { type: 'conversation', schema: {} } } });
      const client = clientOf(fleet, bot.id);
      const columns = { name: { type: 'string' }, value: { type: 'number' } };
      const made = await client.createTable({ name: 'Noted', schema: { type: 'object', properties: columns } });
      const { conversation } = await client.createConversation({
        channel: 'channel',
        integrationName: 'chat',
        tags: Object.fromEntries(names.map((name) => [name, name])),
      });
      const { user } = await client.createUser({ tags: {} });
      table = ledger.table(bot.id, made.table.id);
      talk = ledger.conversation(bot.id, conversation.id, 'notes');
      const place = { conversationId: conversation.id, userId: user.id };
      for (const name of names) {
        await client.createMessage({ ...place, type: 'text', payload: { text: name }, tags: {} });
        for (const [values, value] of [
          [talk.messages, 'said'],
          [talk.tags, name],
          [talk.state.entries, 1],
          [table.rows, 1],
        ] as const)
          ledger.attempt(ledger.of(values, name), value)();
      }
      const payload = Object.fromEntries(names.map((name) => [name, 1]));
      await client.setState({ type: 'conversation', id: conversation.id, name: 'notes', payload });
      await client.createTableRows({ table: made.table.id, rows: names.map((name) => ({ name, value: 1 })) });
    });

    afterEach(() => {
      ledger.tables.length = 0;
      ledger.conversations.length = 0;
    });

    it('finds no loss of written data when the state is as acknowledged', async () => {
      expect(await checkThem()).toEqual([]);
    });

    it('accepts both outcomes of an unanswered write, and only the old state after a rejected one', async () => {
      const maybe = ledger.of(table.rows, 'never');
      ledger.attempt(maybe, 1);
      ledger.attempt(ledger.of(table.rows, 'first'), 2);
      expect(await checkThem()).toEqual([]);

      await database.query(
        `UPDATE tables.row SET data = replace(data::text, 'second', 'never')::jsonb WHERE table_number IN (SELECT number FROM tables."table" WHERE bot_id = $1)`,
        [talk.botId],
      );
      ledger.refused(maybe, 1);

      expect(await checkThem()).toEqual(['row second is missing, expected 1', 'row never is 1, expected missing']);
    });

    it.each<[string, string, string[]]>([
      [
        'messages that are lost',
        `DELETE FROM chat.message WHERE conversation_id = $1 AND payload ->> 'text' = 'second'`,
        ['has a number of messages that differs from its clock', `message second is missing, expected "said"`],
      ],
      [
        'messages that are there twice',
        `INSERT INTO chat.message SELECT bot_id, id || 'x', conversation_id, user_id, type, payload, tags, direction, origin,
           created_at + interval '1 hour', updated_at FROM chat.message WHERE conversation_id = $1 AND payload ->> 'text' = 'third'`,
        ['has a number of messages that differs from its clock', 'message third exists 2 times'],
      ],
      [
        'messages in another order',
        `UPDATE chat.message SET created_at = created_at - interval '1 hour' WHERE conversation_id = $1 AND payload ->> 'text' = 'second'`,
        ['message first comes after second, which was written later'],
      ],
      [
        'messages of the same time',
        `UPDATE chat.message SET created_at = now() WHERE conversation_id = $1`,
        ['message second is not newer than first before it', 'message third is not newer than second before it'],
      ],
      [
        'a gap among signals',
        `DELETE FROM chat.signal WHERE conversation_id = $1 AND number = 2`,
        ['has a gap or a duplicate in its signals'],
      ],
      [
        'a tag of before',
        `UPDATE chat.conversation SET tags = tags || '{"third": "older"}' WHERE id = $1`,
        ['tag third is "older", expected "third"'],
      ],
      [
        'an entry that a state has lost',
        `UPDATE chat.state SET payload = payload - 'first' WHERE owner_id = $1`,
        ['notes first is missing, expected 1'],
      ],
    ])('finds the damage of written data: %s', async (_, statement, expected) => {
      await database.query(statement, [talk.id]);

      expect(await checkThem()).toEqual(expected);
    });
  });

  it('finds a missing bot', async () => {
    const botId = randomUUID();
    ledger.bot(botId);

    expect(await check()).toContain(`the bot ${botId} does not exist`);
  });

  it('finds unfinished work', async () => {
    // Stops the relay of hub, so that the outbox row stays.
    await fleet.the('hub').end('SIGKILL');
    await database.query(`
      INSERT INTO files.indexing_job (file_id, content_version, bot_id, heartbeat_at) VALUES ('f', 'v', 'b', now());
      INSERT INTO files.work (queue, key, tenant, payload, state, due_at)
        VALUES ('files.cleanup', 'f', 'b', '{}', 'waiting', now() + interval '1 hour');
      INSERT INTO files.upload (content_version, bot_id, file_id) VALUES ('v', 'b', 'f');
      INSERT INTO hub.outbox (id, subject, data) VALUES ('o', 'hub.happened', '{}');
      INSERT INTO chat.dead_letter (id, consumer, event_id, subject, data, attempts, reason)
        VALUES ('d', 'chat.listen', 'e', 'hub.happened', '{}', 10, 'It does not work.');
    `);

    expect(await check(0)).toEqual(
      expect.arrayContaining([
        '1 indexing jobs',
        'indexing jobs: announced, attempts 0, announcements 1',
        '1 files to clean up',
        '1 uploads in progress',
        '1 unpublished events of hub',
        '1 dead letters of chat',
      ]),
    );
  });
});

function promiseBroken(id: string, is: string): unknown {
  return expect.stringMatching(`^${id} is ${is}.*, expected `);
}

function withoutIds(finding: string): string {
  return finding.replace(/^(table|conv)_\w+ /, '').replace(/ \((acknowledged|refused) at [^)]+\)/g, '');
}
