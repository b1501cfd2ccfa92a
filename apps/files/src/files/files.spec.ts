import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files, type ListFiles, maxMetadataBytes, maxTags, type UpdateFile } from '@parley/contracts/files';
import { Database } from '@parley/persistence/database';
import { BotFiles, put } from '@parley/testing/bot-files';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

let service: RunningService;
let blobsDir: string;
let sql: Database;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-files-'));
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        sweepIntervalMs: 100,
        maxUploadBytes: 1_000_000_000,
      }),
      platform,
    ),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
});
afterAll(async () => {
  await service?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const newBot = () => new BotFiles(service);
const update = async (bot: BotFiles, input: UpdateFile) => (await bot.ask(files.update, input)).file;
const minuteMs = 60_000;
const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();

describe('upsert', () => {
  it('upserts a pending file with an upload URL and all declared fields', async () => {
    const bot = newBot();

    const file = await bot.upsert({
      key: 'docs/a.txt',
      size: 3,
      tags: { kind: 'note' },
      metadata: { deep: { x: 1 } },
      accessPolicies: ['integrations'],
    });

    expect(file).toMatchObject({
      id: expect.stringMatching(/^file_.{26}$/),
      botId: bot.id,
      key: 'docs/a.txt',
      size: null,
      contentType: 'text/plain',
      tags: { kind: 'note' },
      metadata: { deep: { x: 1 } },
      accessPolicies: ['integrations'],
      index: false,
      status: 'upload_pending',
      owner: { type: 'bot', id: bot.id },
      uploadUrl: expect.stringContaining(`${service.url}/content/file_`),
    });
  });

  it('upserts all fields under the same id, and drops the content at once', async () => {
    const bot = newBot();
    const before = await bot.upload('a.txt', 'old', { tags: { x: '1' }, metadata: { y: 2 } });
    const { url, createdAt } = await bot.get(before.id);

    const after = await bot.upsert({ key: 'a.txt', size: 5, contentType: 'text/markdown' });

    expect(after).toMatchObject({
      id: before.id,
      createdAt,
      tags: {},
      metadata: {},
      size: null,
      status: 'upload_pending',
    });
    expect(after.contentType).toBe('text/markdown');
    expect((await fetch(url)).status).toBe(404);
    expect((await put(before.uploadUrl, 'old')).status).toBe(403);
    expect((await put(after.uploadUrl, 'newer')).status).toBe(200);
  });

  it('lets one of several concurrent upserts of a key win, and rejects the uploads of the others', async () => {
    const bot = newBot();

    const declared = await Promise.all(
      Array.from({ length: 8 }, (_, n) => bot.upsert({ key: 'same', size: 1, tags: { n: String(n) } })),
    );
    const statuses = await Promise.all(declared.map(async ({ uploadUrl }) => (await put(uploadUrl, 'x')).status));

    expect(new Set(declared.map(({ id }) => id)).size).toBe(1);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 403)).toHaveLength(7);
    const winner = declared[statuses.indexOf(200)]!;
    expect(await bot.get('same')).toMatchObject({ tags: winner.tags, status: 'upload_completed' });
  });

  it.each([
    ['a.pdf', 'application/pdf'],
    ['deep/path/b.HTML', 'text/html'],
    ['c.md', 'text/markdown'],
    ['photo.jpeg', 'image/jpeg'],
    ['rows.JSONL', 'application/jsonl'],
    ['no-extension', 'application/octet-stream'],
    ['weird.qqzz', 'application/octet-stream'],
    ['html', 'application/octet-stream'],
  ])('infers the content type of the file %s', async (key, contentType) => {
    expect((await newBot().upsert({ key, size: 1 })).contentType).toBe(contentType);
  });

  it.each([
    ['in the past', -minuteMs],
    ['within this minute', 0],
    ['more than 90 days ahead', 90 * 24 * 60 * minuteMs + minuteMs],
  ])('refuses an expiry of a file %s', async (_name, fromNowMs) => {
    const bot = newBot();
    const { id } = await bot.upsert({ key: 'a', size: 1 });
    const expiresAt = fromNow(fromNowMs);

    for (const ask of [() => bot.upsert({ key: 'b', size: 1, expiresAt }), () => update(bot, { id, expiresAt })]) {
      await expect(ask()).rejects.toMatchObject({
        type: 'InvalidPayload',
        message: expect.stringMatching(/^expiresAt must be .*90 days from now, rounded down to the minute\.$/),
      });
    }
  });

  it('rounds an expiry of a file down to the minute', async () => {
    const inTenMinutes = Math.floor(Date.now() / minuteMs + 10) * minuteMs;

    const file = await newBot().upsert({ key: 'a', size: 1, expiresAt: new Date(inTenMinutes + 59_999).toISOString() });

    expect(file.expiresAt).toBe(new Date(inTenMinutes).toISOString());
  });

  it('rejects a file of more than 95 MiB with an index, and accepts it without', async () => {
    const bot = newBot();
    const most = 95 * 2 ** 20;
    const size = most + 1;

    await expect(bot.upsert({ key: 'a', size, index: true })).rejects.toMatchObject({
      type: 'LimitExceeded',
      code: 413,
    });

    await expect(bot.upsert({ key: 'a', size: most, index: true })).resolves.toMatchObject({ index: true });
    await expect(bot.upsert({ key: 'a', size })).resolves.toMatchObject({ index: false });
  });

  it('rejects a size of a file above the upload limit', async () => {
    await expect(newBot().upsert({ key: 'a', size: 1_000_000_001 })).rejects.toMatchObject({
      type: 'LimitExceeded',
      message: 'size must be at most 1000000000 bytes.',
    });
  });
});

describe('update', () => {
  it('updates tags, metadata, access policies and expiry of a file, and leaves the content alone', async () => {
    const bot = newBot();
    await bot.upload('a.txt', 'x', {
      tags: { kept: '1', changed: '2', removed: '3' },
      metadata: { kept: [null], changed: { old: 1 }, removed: { x: 1 } },
      accessPolicies: ['public_content'],
    });
    await sql.query("UPDATE file SET updated_at = now() - interval '1 minute' WHERE bot_id = $1", [bot.id]);
    const before = await bot.get('a.txt');
    const inTenMinutes = Math.floor(Date.now() / minuteMs + 10) * minuteMs;

    const after = await update(bot, {
      id: 'a.txt',
      tags: { changed: '', removed: null, added: '4', absent: null },
      metadata: { changed: { new: null }, removed: null, added: false },
      accessPolicies: ['integrations'],
      expiresAt: new Date(inTenMinutes + 59_999).toISOString(),
    });

    expect(after).toEqual({
      ...before,
      url: expect.any(String),
      updatedAt: expect.any(String),
      tags: { kept: '1', changed: '', added: '4' },
      metadata: { kept: [null], changed: { new: null }, added: false },
      accessPolicies: ['integrations'],
      expiresAt: new Date(inTenMinutes).toISOString(),
    });
    expect(after.updatedAt > before.updatedAt).toBe(true);
    expect(await bot.get('a.txt')).toEqual({ ...after, url: expect.any(String) });
    expect(await (await fetch(after.url)).text()).toBe('x');
  });

  it('keeps fields of a file that an update does not name, and removes an expiry', async () => {
    const bot = newBot();
    const options = {
      tags: { a: '1' },
      metadata: { b: null },
      accessPolicies: ['integrations' as const],
      expiresAt: fromNow(10 * minuteMs),
    };
    const { id, expiresAt } = await bot.upsert({ key: 'a', size: 1, ...options });

    expect(await update(bot, { id })).toMatchObject({ ...options, expiresAt });
    const forGood = await update(bot, { id, expiresAt: null });

    expect(forGood).not.toHaveProperty('expiresAt');
    expect(await update(bot, { id, accessPolicies: [] })).toEqual({
      ...forGood,
      accessPolicies: [],
      url: expect.any(String),
      updatedAt: expect.any(String),
    });
  });

  it.each(['__proto__', 'constructor', "quote's;--", '', 'a.b', 'ключ 🔑'])(
    'sets and removes an entry of a file named %j',
    async (name) => {
      const bot = newBot();
      const { id } = await bot.upsert({ key: 'a', size: 1, tags: { other: 'x' }, metadata: { other: 'x' } });
      const named = <T>(value: T) => Object.fromEntries([[name, value]]);

      const set = await update(bot, { id, tags: named('1'), metadata: named({ x: 1 }) });
      const removed = await update(bot, { id, tags: named(null), metadata: named(null) });

      expect(Object.entries(set.tags)).toContainEqual([name, '1']);
      expect(Object.entries(set.metadata)).toContainEqual([name, { x: 1 }]);
      expect([Object.entries(removed.tags), Object.entries(removed.metadata)]).toEqual([
        [['other', 'x']],
        [['other', 'x']],
      ]);
    },
  );

  it('loses none of many concurrent changes of a file', async () => {
    const bot = newBot();
    const { id } = await bot.upsert({ key: 'a', size: 1 });
    const names = Array.from({ length: 12 }, (_, n) => `n${n}`);

    await Promise.all(names.map((name) => update(bot, { id, tags: { [name]: 'x' }, metadata: { [name]: 1 } })));

    const { tags, metadata } = await bot.get(id);
    expect([Object.keys(tags).sort(), Object.keys(metadata).sort()]).toEqual([[...names].sort(), [...names].sort()]);
  });

  it('updates a file without disturbing its upload', async () => {
    const bot = newBot();
    const { id, uploadUrl } = await bot.upsert({ key: 'a', size: 1 });

    await update(bot, { id, tags: { a: '1' } });

    expect((await put(uploadUrl, 'x')).status).toBe(200);
    expect(await bot.get(id)).toMatchObject({ status: 'upload_completed', tags: { a: '1' } });
  });

  it('rejects a change of a file that exceeds the limits together with the stored entries', async () => {
    const bot = newBot();
    const many = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, 'x']));
    const half = { half: 'x'.repeat(maxMetadataBytes / 2) };
    const { id } = await bot.upsert({ key: 'a', size: 1, tags: many('old', maxTags), metadata: half });

    await expect(update(bot, { id, tags: { more: 'x' }, metadata: { more: 1 } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: 'tags must have at most 100 entries, including stored ones.',
    });
    await expect(update(bot, { id, metadata: { more: half.half }, tags: { old0: 'y' } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: 'metadata must be at most 131072 bytes of JSON, including stored entries.',
    });

    expect(await bot.get(id)).toMatchObject({ tags: many('old', maxTags), metadata: half });
    const replaced = Object.fromEntries(Object.keys(many('old', maxTags)).map((name) => [name, null]));
    const { tags } = await update(bot, { id, tags: { ...replaced, ...many('new', maxTags) } });
    expect(tags).toEqual(many('new', maxTags));
  });
});

describe('get, update and delete', () => {
  it.each([
    ['plain', 'plain.txt'],
    ['with slashes', 'with/slashes/and space.txt'],
    ['beyond ASCII', 'ünïcödé ✓'],
    ['like SQL', "quote's;--"],
    ['of the greatest length', 'x'.repeat(1000)],
  ])('finds a file by a key that is %s for get, update and delete', async (_name, key) => {
    const bot = newBot();
    const { id } = await bot.upload(key, 'x');

    expect((await bot.get(key)).id).toBe(id);
    expect((await update(bot, { id: key })).id).toBe(id);
    await bot.delete(key);

    await expect(bot.get(id)).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('finds a file by its id before a file that has this id as its key', async () => {
    const bot = newBot();
    const { id } = await bot.upsert({ key: 'a', size: 1 });
    const other = await bot.upsert({ key: id, size: 1 });

    expect((await bot.get(id)).key).toBe('a');
    expect((await update(bot, { id })).key).toBe('a');
    await bot.delete(id);

    expect((await bot.get(id)).id).toBe(other.id);
  });

  it('returns 404 for a missing file, each time', async () => {
    const bot = newBot();
    const { id } = await bot.upload('a', 'x');
    await bot.delete(id);

    for (const ask of [
      () => bot.get(id),
      () => bot.get('a'),
      () => update(bot, { id, tags: { x: '1' } }),
      () => bot.delete(id),
      () => bot.delete('never'),
      () => bot.listPassages(id),
    ]) {
      await expect(ask()).rejects.toMatchObject({ type: 'ResourceNotFound', code: 404 });
    }
    expect((await bot.list()).files).toEqual([]);
  });

  it('deletes a file once for two concurrent requests', async () => {
    const bot = newBot();
    const { id } = await bot.upload('a', 'x');

    const results = await Promise.allSettled([bot.delete(id), bot.delete(id), bot.delete(id)]);

    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ type: 'ResourceNotFound' });
    }
  });

  it('returns the same 404 for a file of another bot as for a missing one', async () => {
    const [alice, mallory] = [newBot(), newBot()];
    const { id } = await alice.upload('mine.txt', 'x');
    const absent = (name: string) => ({ type: 'ResourceNotFound', message: `The file "${name}" was not found.` });

    for (const name of [id, 'mine.txt', 'never.txt']) {
      await expect(mallory.get(name)).rejects.toMatchObject(absent(name));
      await expect(update(mallory, { id: name, tags: { x: '1' } })).rejects.toMatchObject(absent(name));
      await expect(mallory.delete(name)).rejects.toMatchObject(absent(name));
      await expect(mallory.listPassages(name)).rejects.toMatchObject(absent(name));
    }
    expect((await mallory.list({ ids: [id] })).files).toEqual([]);
    const same = await mallory.upsert({ key: 'mine.txt', size: 1 });
    expect(same.id).not.toBe(id);
    expect(await alice.get(id)).toMatchObject({ status: 'upload_completed', size: 1, tags: {} });
  });

  it('hides an expired file before the sweeper removes it', async () => {
    const bot = newBot();
    const { id } = await bot.upload('a', 'x', { expiresAt: fromNow(2 * minuteMs) });
    const { url } = await bot.get(id);

    await sql.transaction(async (tx) => {
      // Locked, so that the sweeper skips it.
      await tx.query('SELECT 1 FROM file WHERE id = $1 FOR KEY SHARE', [id]);
      await sql.query("UPDATE file SET expires_at = now() - interval '1 minute' WHERE id = $1", [id]);

      await expect(bot.get(id)).rejects.toMatchObject({ type: 'ResourceNotFound' });
      await expect(update(bot, { id, expiresAt: null })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      await expect(bot.delete('a')).rejects.toMatchObject({ type: 'ResourceNotFound' });
      expect((await bot.list()).files).toEqual([]);
      expect((await fetch(url)).status).toBe(404);
    });
  });
});

describe('list', () => {
  const keysOf = async (bot: BotFiles, query: ListFiles = {}) => (await bot.list(query)).files.map(({ key }) => key);

  async function allKeys(bot: BotFiles, query: ListFiles): Promise<string[]> {
    const keys: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await bot.list({ ...query, nextToken });
      keys.push(...page.files.map(({ key }) => key));
      nextToken = page.meta.nextToken;
    } while (nextToken !== undefined);
    return keys;
  }

  it('lists the newest files first, 20 at a time by default', async () => {
    const bot = newBot();
    for (let n = 0; n < 25; n += 1) await bot.upsert({ key: `k${n}`, size: 1 });

    const first = await bot.list();
    const second = await bot.list({ nextToken: first.meta.nextToken });

    expect(first.files.map(({ key }) => key)).toEqual(Array.from({ length: 20 }, (_, n) => `k${24 - n}`));
    expect(second.files.map(({ key }) => key)).toEqual(['k4', 'k3', 'k2', 'k1', 'k0']);
    expect(second.meta.nextToken).toBeUndefined();
    expect(await keysOf(bot, { limit: 2 })).toEqual(['k24', 'k23']);
    expect(await keysOf(bot, { pageSize: 3 })).toHaveLength(3);
    expect(await keysOf(bot, { limit: 200 })).toHaveLength(25);
  });

  it('filters files by tags, ids and index together', async () => {
    const bot = newBot();
    const a = await bot.upsert({ key: 'a', size: 1, tags: { kb: 'one', color: 'red' } });
    const b = await bot.upsert({ key: 'b', size: 1, tags: { kb: 'two', color: 'blue' } });
    await bot.upsert({ key: 'c', size: 1, tags: { kb: 'three' } });
    await bot.upsert({ key: 'd', size: 1 });
    const only = (...wanted: string[]) => ({ in: wanted, notIn: [] });
    const not = (...unwanted: string[]) => ({ in: [], notIn: unwanted });

    expect(await keysOf(bot, { tags: { kb: only('one', 'two') } })).toEqual(['b', 'a']);
    expect(await keysOf(bot, { tags: { kb: only('one', 'two'), color: only('red') } })).toEqual(['a']);
    expect(await keysOf(bot, { tags: { kb: not('one', 'three') } })).toEqual(['d', 'b']);
    expect(await keysOf(bot, { tags: { kb: { in: ['one', 'two'], notIn: ['two'] } } })).toEqual(['a']);
    expect(await keysOf(bot, { tags: { "x' OR true --": only('1') } })).toEqual([]);
    expect(await keysOf(bot, { ids: [a.id, b.id], tags: { color: only('blue') } })).toEqual(['b']);
    expect(await keysOf(bot, { ids: [] })).toEqual([]);
    await sql.query("UPDATE file SET active_version = 'v' WHERE id = $1", [b.id]);
    expect(await keysOf(bot, { indexed: true })).toEqual(['b']);
    expect(await keysOf(bot, { indexed: false })).toEqual(['d', 'c', 'a']);
  });

  it.each(['createdAt', 'updatedAt', 'key', 'size', 'status'] as const)(
    'pages files by %s in both directions, without loss or repeat',
    async (sortField) => {
      const bot = newBot();
      const keys = ['delta', 'Alpha', 'charlie', 'éclair', 'bravo', 'zulu', 'x'.repeat(999)];
      for (const [n, key] of keys.entries()) {
        if (n % 2 === 0) await bot.upsert({ key, size: n });
        else await bot.upload(key, 'x'.repeat(n % 3));
      }
      // Equal timestamps: a cursor of the timestamp alone would lose rows.
      await sql.query('UPDATE file SET created_at = now(), updated_at = now() WHERE bot_id = $1', [bot.id]);

      const ascending = await allKeys(bot, { sortField, sortDirection: 'asc', limit: 2 });
      const descending = await allKeys(bot, { sortField, sortDirection: 'desc', limit: 3 });

      expect([...ascending].sort()).toEqual([...keys].sort());
      expect(descending).toEqual([...ascending].reverse());
    },
  );

  it('sorts sizes of files as numbers and keys as bytes', async () => {
    const bot = newBot();
    for (const [key, size] of [
      ['b', 10],
      ['B', 9],
      ['a', 100],
    ] as const)
      await bot.upload(key, 'x'.repeat(size));
    await bot.upsert({ key: 'none', size: 5 });

    expect(await keysOf(bot, { sortField: 'size', sortDirection: 'asc' })).toEqual(['none', 'B', 'b', 'a']);
    expect(await keysOf(bot, { sortField: 'key', sortDirection: 'asc' })).toEqual(['B', 'a', 'b', 'none']);
  });

  it('rejects a page token of files that is invalid, or of another query or bot', async () => {
    const [bot, other] = [newBot(), newBot()];
    for (const key of ['a', 'b', 'c']) await bot.upsert({ key, size: 1 });
    const nextToken = (await bot.list({ limit: 1 })).meta.nextToken!;

    await expect(bot.list({ limit: 2, nextToken })).resolves.toBeDefined();
    for (const query of [
      { nextToken: 'nonsense' },
      { nextToken: `${nextToken}x` },
      { nextToken, sortDirection: 'asc' as const },
      { nextToken, sortField: 'key' as const },
      { nextToken, indexed: false },
    ]) {
      await expect(bot.list(query)).rejects.toMatchObject({
        type: 'InvalidQuery',
        message: expect.stringContaining('nextToken'),
      });
    }
    await expect(other.list({ nextToken })).rejects.toMatchObject({ type: 'InvalidQuery' });
  });
});
