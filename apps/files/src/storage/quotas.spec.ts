import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { botDeleted } from '@parley/contracts/admin/bots';
import type { CallerQuotas } from '@parley/contracts/caller';
import { files as operations } from '@parley/contracts/files';
import type { CorrectedStorage } from '@parley/contracts/storage-counts';
import { Database } from '@parley/persistence/database';
import { StorageUseRepository } from '../store/storage-use.repository';
import { Outbox } from '@parley/events/outbox';
import { BotFiles, put } from '@parley/testing/bot-files';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';
import { MoveBotHandler } from './move-bot.handler';

let service: RunningService;
let blobsDir: string;
let sql: Database;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-quotas-'));
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 8,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        sweepIntervalMs: 50,
      }),
      platform,
    ),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
});
afterAll(async () => {
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const newWorkspace = () => `wkspace_${randomUUID()}`;
const quotas = (files: number, vectors = files): CallerQuotas => ({
  storage_count: files,
  knowledgebase_vector_storage: vectors,
});
const get = <T>(token: new (...parameters: never[]) => T) => service.apps[0]!.get(token, { strict: false });
const rows = (text: string, ...values: unknown[]) => sql.query<Record<string, string>>(text, values);

function newBot(allowed?: CallerQuotas, workspaceId = newWorkspace()): BotFiles {
  const bot = new BotFiles(service);
  bot.caller.bot.workspaceId = workspaceId;
  Object.assign(bot.caller, { workspace: { id: workspaceId }, quotas: allowed });
  return bot;
}

async function use(workspaceId: string) {
  const { fileBytes, vectorBytes } = await get(StorageUseRepository).getUseOfWorkspace(sql, workspaceId);
  return { files: fileBytes, vectors: vectorBytes };
}
const useOf = (bot: BotFiles) => use(bot.caller.workspace.id);
const usesUp = (bot: BotFiles, files: number) =>
  waitFor(
    () => useOf(bot),
    (used) => used.files === files,
  );
const lapse = (id: string) =>
  sql.query("UPDATE file SET upload_expires_at = now() - interval '1 second' WHERE id = $1", [id]);
const expire = (id: string) => sql.query(`UPDATE file SET expires_at = now() - interval '1 ms' WHERE id = $1`, [id]);
const outcomes = async (asked: Promise<unknown>[]) => {
  const settled = await Promise.allSettled(asked);
  return {
    done: settled.filter(({ status }) => status === 'fulfilled').length,
    errors: settled.flatMap((one) => (one.status === 'rejected' ? [(one.reason as { type: string }).type] : [])),
  };
};

async function reconcile(): Promise<CorrectedStorage[]> {
  const corrected: CorrectedStorage[] = [];
  let after: string | undefined;
  do {
    const page = await service.call(
      operations.storage.reconcile,
      { requestId: 'test', credential: 'operator' },
      { after },
    );
    corrected.push(...page.corrected);
    after = page.next;
  } while (after !== undefined);
  return corrected;
}

describe('storage', () => {
  it('reserves storage for a declared file, keeps it for the upload and frees it with the file', async () => {
    const bot = newBot(quotas(100));

    const file = await bot.upsert({ key: 'a', size: 10 });
    const declared = await useOf(bot);
    await put(file.uploadUrl, '0123456789');
    const uploaded = await useOf(bot);
    await put(file.uploadUrl, '9876543210');
    const uploadedTwice = await useOf(bot);
    await bot.delete(file.id);

    expect([declared, uploaded, uploadedTwice]).toEqual(Array(3).fill({ files: 10, vectors: 0 }));
    expect(await useOf(bot)).toEqual({ files: 0, vectors: 0 });
  });

  it('frees storage when an upload URL expires and when a file expires', async () => {
    const bot = newBot(quotas(100));
    const [lapsing, expiring] = [await bot.upsert({ key: 'a', size: 10 }), await bot.upload('b', '12345')];

    await lapse(lapsing.id);
    await usesUp(bot, 5);
    await expire(expiring.id);
    await usesUp(bot, 0);

    await bot.upsert({ key: 'a', size: 100 });
    expect(await useOf(bot)).toEqual({ files: 100, vectors: 0 });
  });

  it('frees storage, together with its counters, when the bot is erased', async () => {
    const bot = newBot(quotas(100));
    await bot.upload('a', '12345');

    await sql.transaction((tx) =>
      get(Outbox).add(tx, botDeleted, { botId: bot.id, workspaceId: bot.caller.workspace.id }),
    );

    await usesUp(bot, 0);
    await waitFor(async () => (await rows('SELECT 1 FROM bot_home WHERE bot_id = $1', bot.id)).length === 0);
    await expect(bot.upsert({ key: 'late', size: 1 })).rejects.toMatchObject({ type: 'Forbidden' });
    expect(await rows('SELECT 1 FROM bot_home WHERE bot_id = $1', bot.id)).toEqual([]);
  });

  it('counts the difference of storage when a key is declared again', async () => {
    const bot = newBot(quotas(100));
    await bot.upload('a', '1234567890', { index: true });

    await bot.upsert({ key: 'a', size: 100 });
    const larger = await useOf(bot);
    await bot.upsert({ key: 'a', size: 60, index: true });

    expect(larger).toEqual({ files: 100, vectors: 0 });
    expect(await useOf(bot)).toEqual({ files: 60, vectors: 60 });
  });

  it('counts vectors as storage only for files that are to be indexed', async () => {
    const bot = newBot(quotas(100, 10));
    await bot.upsert({ key: 'plain', size: 50 });
    await bot.upsert({ key: 'indexed', size: 10, index: true });

    await expect(bot.upsert({ key: 'more', size: 1, index: true })).rejects.toMatchObject({
      type: 'QuotaExceeded',
      message: expect.stringMatching(/knowledgebase_vector_storage/),
    });
    await bot.upsert({ key: 'more', size: 1 });

    expect(await useOf(bot)).toEqual({ files: 61, vectors: 10 });
  });

  it('shares storage among all bots of a workspace, apart from other workspaces', async () => {
    const workspaceId = newWorkspace();
    const [first, second, stranger] = [
      newBot(quotas(100), workspaceId),
      newBot(quotas(100), workspaceId),
      newBot(quotas(100)),
    ];
    await first.upsert({ key: 'a', size: 60 });

    await expect(second.upsert({ key: 'a', size: 60 })).rejects.toMatchObject({ type: 'QuotaExceeded' });
    await stranger.upsert({ key: 'a', size: 60 });
    await second.upsert({ key: 'a', size: 40 });

    expect([await use(workspaceId), await useOf(stranger)]).toEqual([
      { files: 100, vectors: 0 },
      { files: 60, vectors: 0 },
    ]);
  });

  it('counts a copy as storage at its destination, and refuses a copy that does not fit', async () => {
    const bot = newBot(quotas(25));
    await bot.upload('a', '1234567890');
    const copy = (destinationKey: string) => bot.ask(operations.copy, { idOrKey: 'a', destinationKey });

    await copy('b');

    expect(await useOf(bot)).toEqual({ files: 20, vectors: 0 });
    await expect(copy('c')).rejects.toMatchObject({ type: 'QuotaExceeded' });
    await expect(bot.get('c')).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(await useOf(bot)).toEqual({ files: 20, vectors: 0 });
  });
});

describe('a quota', () => {
  it('reports an exceeded quota with its usage, its limit and the requested size', async () => {
    const bot = newBot(quotas(100));
    await bot.upsert({ key: 'a', size: 70 });

    await expect(bot.upsert({ key: 'b', size: 31 })).rejects.toMatchObject({
      type: 'QuotaExceeded',
      code: 403,
      message: expect.stringMatching(/store 100 bytes.*\(storage_count\).*uses 70.*has 31/),
    });
    await bot.upsert({ key: 'b', size: 30 });
  });

  it('accepts exactly as many of 50 concurrent files as fit into the quota', async () => {
    const bot = newBot(quotas(1_000));

    const { done, errors } = await outcomes(
      Array.from({ length: 50 }, (_, n) => bot.upsert({ key: `${n}`, size: 70, index: n % 2 === 0 })),
    );

    expect(done).toBe(14);
    expect(new Set(errors)).toEqual(new Set(['QuotaExceeded']));
    expect((await useOf(bot)).files).toBe(980);
  });

  it('keeps the quota for concurrent small and large files of several bots', async () => {
    const workspaceId = newWorkspace();
    const [limit, small, large] = [200_000, 200, 30_000];
    const bots = Array.from({ length: 4 }, () => newBot(quotas(limit), workspaceId));
    const errors: string[] = [];

    for (let wave = 0; wave < 3; wave += 1) {
      const declared = Array.from({ length: 50 }, (_, n) =>
        bots[n % 4]!.upsert({ key: `${wave}/${n}`, size: n % 20 === 0 ? large : small }),
      );
      errors.push(...(await outcomes(declared)).errors);
    }

    expect(new Set(errors)).toEqual(new Set(['QuotaExceeded']));
    const { files } = await use(workspaceId);
    expect(files).toBeLessThanOrEqual(limit);
    expect(files).toBeGreaterThan(limit - large);
  });

  it('accepts a small file within the quota while a large one takes the rest', async () => {
    const bot = newBot(quotas(1_000_000));
    await bot.upsert({ key: 'most', size: 890_000 });
    const repository = get(StorageUseRepository);
    let small: Promise<unknown> | undefined;

    await sql.transaction(async (tx) => {
      await repository.lockWorkspace(tx, bot.caller.workspace.id);
      await tx.query('UPDATE file SET declared_size = 1000000 WHERE bot_id = $1', [bot.id]);
      small = bot.upsert({ key: 'small', size: 1_000 });
      small.catch(() => undefined);
      await waitFor(
        async () => (await rows(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).length,
      );
    });

    await expect(small).rejects.toMatchObject({ type: 'QuotaExceeded' });
    expect((await useOf(bot)).files).toBe(1_000_000);
  });

  it('accepts declarations that need no more storage when the quota is used up or was lowered', async () => {
    const bot = newBot(quotas(100));
    await bot.upsert({ key: 'a', size: 100, index: true });
    bot.caller.quotas = quotas(10);

    await bot.upsert({ key: 'empty', size: 0, index: true });
    await bot.upsert({ key: 'a', size: 90, index: true });

    await expect(bot.upsert({ key: 'a', size: 91, index: true })).rejects.toMatchObject({ type: 'QuotaExceeded' });
    expect(await useOf(bot)).toEqual({ files: 90, vectors: 90 });
  });
});

describe('the transfer of a bot', () => {
  const transfer = (bot: BotFiles, workspaceId: string, id: string) =>
    get(MoveBotHandler).handle(
      { botId: bot.id, workspaceId },
      { event: { id, subject: 'admin.botTransferred', data: {} }, attempt: 1, signal: new AbortController().signal },
    );

  it('moves the usage of a transferred bot, for repeated and reordered events', async () => {
    const bot = newBot();
    const [first, second] = [newWorkspace(), newWorkspace()];
    await bot.upsert({ key: 'a', size: 10 });

    await transfer(bot, second, 'outbox_2');
    await transfer(bot, first, 'outbox_1');
    await transfer(bot, second, 'outbox_2');

    expect([await useOf(bot), await use(first), await use(second)].map(({ files }) => files)).toEqual([0, 0, 10]);
  });

  it('keeps usage in the new workspace after a transfer', async () => {
    const bot = newBot();
    const target = newWorkspace();
    await transfer(bot, target, 'outbox_1');

    await bot.upsert({ key: 'a', size: 10 });

    expect([await useOf(bot), await use(target)].map(({ files }) => files)).toEqual([0, 10]);
  });
});

describe('admin', () => {
  it('reports the usage of a bot to admin after each change, and nothing else', async () => {
    const bot = newBot();
    const told = () =>
      rows(
        `SELECT data->>'type' AS type, data->>'value' AS value, data->>'workspaceId' AS workspace, data->>'at' AS at
         FROM outbox WHERE subject = 'admin.usageChanged' AND data->>'botId' = $1 ORDER BY id`,
        bot.id,
      );
    const newest = async () => {
      const news = await told();
      return Object.fromEntries(news.map(({ type, value }) => [type, value]));
    };

    await bot.upload('a', '1234567890', { index: true });
    await bot.upsert({ key: 'b', size: 5 });
    await waitFor(newest, (news) => news['storage_count'] === '15' && news['knowledgebase_vector_storage'] === '10');
    const times = (await told()).length;
    await bot.ask(operations.update, { id: 'b', tags: { a: 'b' } });
    await bot.delete('a');
    await waitFor(newest, (news) => news['storage_count'] === '5' && news['knowledgebase_vector_storage'] === '0');

    const news = await told();
    expect(news).toHaveLength(times + 2);
    expect(new Set(news.map(({ workspace }) => workspace))).toEqual(new Set([bot.caller.workspace.id]));
    expect(news.map(({ at }) => at)).toEqual([...news.map(({ at }) => at)].sort());
  });
});

describe('reconciling', () => {
  it('corrects wrong counters of storage, reports their old values, and changes nothing else', async () => {
    const [wrong, right, lost] = [newBot(), newBot(), newBot()];
    for (const bot of [wrong, right, lost]) await bot.upload('a', '1234567890', { index: true });
    await sql.query('UPDATE storage_use SET file_bytes = file_bytes + 7, vector_bytes = -3 WHERE bot_id = $1', [
      wrong.id,
    ]);
    await sql.query('DELETE FROM storage_use WHERE bot_id = $1', [lost.id]);

    const corrected = await reconcile();

    const after = { fileBytes: 10, vectorBytes: 10 };
    expect(corrected).toHaveLength(2);
    expect(corrected).toEqual(
      expect.arrayContaining([
        { botId: wrong.id, before: { fileBytes: 17, vectorBytes: -3 }, after },
        { botId: lost.id, before: { fileBytes: 0, vectorBytes: 0 }, after },
      ]),
    );
    for (const bot of [wrong, right, lost]) expect(await useOf(bot)).toEqual({ files: 10, vectors: 10 });
    expect(await reconcile()).toEqual([]);
  });

  it('checks the storage of every bot, page by page', async () => {
    const bots = Array.from({ length: 60 }, () => newBot());
    await Promise.all(bots.map((bot) => bot.upsert({ key: 'a', size: 1 })));
    // Locks in the order of the reconciliation, which may run at the same time.
    await sql.query(
      `WITH held AS MATERIALIZED (
         SELECT bot_id FROM storage_use WHERE bot_id = ANY($1) ORDER BY bot_id FOR NO KEY UPDATE)
       UPDATE storage_use SET file_bytes = 2 FROM held WHERE storage_use.bot_id = held.bot_id`,
      [bots.map(({ id }) => id)],
    );

    const corrected = await reconcile();

    expect(corrected.map(({ botId }) => botId)).toEqual(bots.map(({ id }) => id).sort());
  });

  it('finds no wrong counters after concurrent changes of all kinds', async () => {
    const bots = Array.from({ length: 3 }, () => newBot(quotas(3_000, 1_000)));
    const content = 'x'.repeat(100);
    const actions: ((bot: BotFiles, n: number) => Promise<unknown>)[] = [
      async (bot, n) => {
        const { uploadUrl } = await bot.upsert({ key: `${n % 7}`, size: content.length, index: n % 2 === 0 });
        await put(uploadUrl, content);
      },
      (bot, n) => bot.upsert({ key: `${n % 7}`, size: n }),
      (bot, n) => bot.delete(`${n % 5}`),
      (bot, n) => bot.ask(operations.copy, { idOrKey: `${n % 7}`, destinationKey: `${n % 5}`, overwrite: true }),
      async (bot, n) => expire((await bot.get(`${n % 7}`)).id),
      async (bot, n) => lapse((await bot.get(`${n % 7}`)).id),
      () => reconcile().then((corrected) => expect(corrected).toEqual([])),
    ];

    const { errors } = await outcomes(
      Array.from({ length: 210 }, (_, n) => actions[n % actions.length]!(bots[n % bots.length]!, n)),
    );

    const known = ['ResourceNotFound', 'QuotaExceeded', 'InvalidPayload', 'ResourceLockedConflict', 'AlreadyExists'];
    expect(errors.filter((type) => !known.includes(type))).toEqual([]);
    expect(await reconcile()).toEqual([]);
    const bytesOf = async (bot: BotFiles) => {
      const [sum] = await rows(
        `SELECT coalesce(sum(coalesce(size, declared_size)), 0) AS files FROM file
         WHERE bot_id = $1 AND status <> 'upload_failed'`,
        bot.id,
      );
      return Number(sum!['files']);
    };
    // The sweeper may remove expired uploads and files between the two queries.
    for (const bot of bots)
      await waitFor(
        async () => [await bytesOf(bot), (await useOf(bot)).files],
        ([stored, used]) => stored === used,
      );
  });
});
