import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files } from '@parley/contracts/files';
import type { SearchFiles } from '@parley/contracts/passage-search';
import { contentHold } from '@parley/persistence/content-hold';
import { Database } from '@parley/persistence/database';
import { passageId, PassagesRepository } from '../store/passages.repository';
import type { Embedder } from '@parley/passages/embedder';
import { documentTerms } from '@parley/passages/lexicon';
import type { PassageIndex } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import { BotFiles } from '@parley/testing/bot-files';
import { waitFor } from '@parley/testing/wait-for';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { metricValue } from '@parley/testing/metric-value';
import { sendTo } from '@parley/testing/public-api';
import { type RunningService, startService } from '@parley/testing/running-service';
import { sentDuring } from '@parley/testing/sent-statements';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

let service: RunningService;
let embeddings: EmbeddingServer;
let blobsDir: string;
let sql: Database;
let points: PassageIndex;
let endHold: (() => Promise<void>) | undefined;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-search-'));
  embeddings = await EmbeddingServer.start();
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        embeddingsUrl: embeddings.url,
        embeddingsTimeoutMs: 1_000,
        sweepIntervalMs: 3_600_000,
      }),
      platform,
    ),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
  points = service.apps[0]!.get<PassageIndex>(passageIndex, { strict: false });
  endHold = await holdContents();
});
afterAll(async () => {
  await endHold?.();
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
  await embeddings?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

afterEach(() => jest.restoreAllMocks());

/** As a backup does: no cleanup, so that points of changed and deleted files stay in the index. */
async function holdContents(): Promise<() => Promise<void>> {
  let held!: () => void;
  let release!: () => void;
  const isHeld = new Promise<void>((resolve) => (held = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const holding = sql.transaction(async (tx) => {
    await tx.query(`SET LOCAL idle_in_transaction_session_timeout = 0; SELECT pg_advisory_xact_lock(${contentHold})`);
    held();
    await released;
  });
  await Promise.race([isHeld, holding]);
  return () => {
    release();
    return holding;
  };
}

const newBot = () => new BotFiles(service);
const search = async (bot: BotFiles, query: string, options: Partial<SearchFiles> = {}) =>
  (await bot.ask(files.search, { query, ...options })).passages;
const keys = async (bot: BotFiles, query: string, options?: Partial<SearchFiles>) =>
  [...new Set((await search(bot, query, options)).map(({ file }) => file.key))].sort();

interface Stored {
  tags?: Record<string, string>;
  accessPolicies?: ('public_content' | 'integrations')[];
  breadcrumb?: string[];
}

async function store(bot: BotFiles, key: string, texts: string[], { breadcrumb = [], ...options }: Stored = {}) {
  const { id: fileId } = await bot.upload(key, 'x', { index: true, ...options });
  const [row] = await sql.query<{ version: string }>('SELECT content_version AS version FROM file WHERE id = $1', [
    fileId,
  ]);
  const version = { botId: bot.id, fileId, contentVersion: row!.version };
  const [vector] = await service.apps[0]!.get<Embedder>(embedder, { strict: false }).embed([texts[0]!]);
  const isSame = texts.every((text) => text === texts[0]);
  const vectors = isSame
    ? texts.map(() => vector!)
    : await service.apps[0]!.get<Embedder>(embedder, { strict: false }).embed(texts);
  await service.apps[0]!.get(PassagesRepository, { strict: false }).upsertPassages(
    version,
    texts.map((content, position) => ({ position, content, subtype: 'paragraph', breadcrumb })),
  );
  await points.write(
    bot.id,
    texts.map((text, position) => ({
      id: passageId(fileId, version.contentVersion, position),
      fileId,
      contentVersion: version.contentVersion,
      vector: vectors[position]!,
      terms: documentTerms(text),
      tags: options.tags ?? {},
    })),
  );
  await sql.query(`UPDATE file SET active_version = content_version, status = 'indexing_completed' WHERE id = $1`, [
    fileId,
  ]);
  await sql.query('DELETE FROM indexing_job WHERE file_id = $1', [fileId]);
  return fileId;
}

async function counted(work: () => Promise<string[]>) {
  let [found, searches]: [string[], number] = [[], 0];
  const searchPoints = points.search.bind(points);
  points.search = (...args) => {
    searches++;
    return searchPoints(...args);
  };
  try {
    const sent = await sentDuring(async () => void (found = await work()));
    return { found, searches, lists: sent.filter(({ text }) => text.startsWith('SELECT id FROM file ')).length };
  } finally {
    Object.assign(points, { search: searchPoints });
  }
}

const letters = (n: number) => String.fromCharCode(97 + (n % 26)).repeat(3 + n);
const paragraphs = (count: number) => Array.from({ length: count }, (_, n) => `Paragraph ${n} says ${letters(n)}.`);

describe('search results', () => {
  it('returns no passage below a least score of words when the scores of the model are not calibrated', async () => {
    const bot = newBot();
    await store(bot, 'a.txt', [...paragraphs(30), 'A zebra in the zoo.']);
    const ask = (query: string, minScore?: number) => bot.ask(files.search, { query, minScore });

    const all = await ask('A zebra in the zoo');
    const good = await ask('A zebra in the zoo', 0.3);

    expect(all.passages).toHaveLength(20);
    expect(all.isCalibrated).toBe(false);
    expect(all).not.toHaveProperty('leastScore');
    expect(good.passages.map(({ content }) => content)).toEqual(['A zebra in the zoo.']);
    expect((await ask('quantum chromodynamics', 0.3)).passages).toEqual([]);
  });

  it('returns the best results first with scores from 0 to 1, where 1 is the passage itself', async () => {
    const bot = newBot();
    await store(bot, 'a.txt', paragraphs(30));

    const found = await search(bot, 'Paragraph 7 says hhhhhhhhhh.', { limit: 50 });

    const scores = found.map(({ score }) => score);
    expect(found).toHaveLength(30);
    expect(found[0]).toMatchObject({ content: 'Paragraph 7 says hhhhhhhhhh.', score: expect.closeTo(1, 6) as number });
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(scores.every((score) => score > 0 && score <= 1)).toBe(true);
  });

  it('returns 20 search results by default and 50 at most', async () => {
    const bot = newBot();
    await store(bot, 'a.txt', paragraphs(60));

    expect(await search(bot, 'paragraph')).toHaveLength(20);
    expect(await search(bot, 'paragraph', { limit: 1 })).toHaveLength(1);
    expect(await search(bot, 'paragraph', { limit: 50 })).toHaveLength(50);
  });

  it.each([
    ['of 8,000 characters', 'paragraph says '.repeat(534).slice(0, 8000)],
    ['of emoji', '🍎🍏🫐'],
    ['of words that are everywhere', 'the of and a to'],
    ['of signs', '?! … --'],
    ['of another script', 'これは段落です'],
    ['of SQL syntax', `'; DROP TABLE file; -- % _ \\`],
  ])('returns the nearest passages for a query %s', async (_what, query) => {
    const bot = newBot();
    await store(bot, 'a.txt', paragraphs(3));

    expect(await search(bot, query)).toHaveLength(3);
  });

  it('returns no search results in a bot without passages', async () => {
    expect(await search(newBot(), 'anything')).toEqual([]);
  });

  it('returns no search results and reports a degraded index when it has lost the points of passages', async () => {
    const [bot, empty] = [newBot(), newBot()];
    await store(bot, 'a.txt', ['one apple']);
    const degraded = async () => {
      const { text } = await sendTo(service.url, 'GET /metrics');
      return metricValue(text, 'parley_search_degraded_total{reason="index empty"}', 0);
    };
    const before = await degraded();
    await search(empty, 'apple');
    expect(await degraded()).toBe(before);

    await points.dropTenant(bot.id);

    expect(await search(bot, 'apple')).toEqual([]);
    expect(await degraded()).toBe(before + 1);
    await search(bot, 'apple', { tags: { color: { in: ['red'], notIn: [] } } });
    expect(await degraded()).toBe(before + 1);
  });

  it('returns search results that match all requested tags', async () => {
    const bot = newBot();
    await store(bot, 'red', ['one apple'], { tags: { color: 'red', ripe: 'yes' } });
    await store(bot, 'green', ['two apples'], { tags: { color: 'green', ripe: 'no' } });
    await store(bot, 'plain', ['three apples']);
    const by = (tags: SearchFiles['tags']) => keys(bot, 'apple', { tags });

    expect(await by({ color: { in: ['red'], notIn: [] } })).toEqual(['red']);
    expect(await by({ color: { in: ['red', 'green'], notIn: [] } })).toEqual(['green', 'red']);
    expect(await by({ color: { in: [], notIn: ['red'] } })).toEqual(['green', 'plain']);
    expect(await by({ color: { in: ['red', 'green'], notIn: [] }, ripe: { in: [], notIn: ['no'] } })).toEqual(['red']);
    expect(await by({ none: { in: ['x'], notIn: [] } })).toEqual([]);
    expect(await by({ ['__proto__']: { in: ['x'], notIn: [] } })).toEqual([]);
  });

  it('finds a file by its new tags, also while a backup keeps cleanups from running', async () => {
    const bot = newBot();
    const id = await store(bot, 'a.txt', ['one apple'], { tags: { state: 'draft' } });

    await bot.ask(files.update, { id, tags: { state: 'final' } });

    await waitFor(
      () => keys(bot, 'apple', { tags: { state: { in: ['final'], notIn: [] } } }),
      ([key]) => key === 'a.txt',
    );
  });

  it('ignores a tag that was just removed, though the index still has it', async () => {
    const bot = newBot();
    const id = await store(bot, 'a.txt', ['one apple'], { tags: { state: 'draft', owner: 'ann' } });
    jest.spyOn(points, 'retag').mockRejectedValue(new Error('The index is away.'));

    await bot.ask(files.update, { id, tags: { state: 'final', owner: null } });

    expect(await keys(bot, 'apple', { tags: { state: { in: ['draft'], notIn: [] } } })).toEqual([]);
    expect(await keys(bot, 'apple', { tags: { owner: { in: ['ann'], notIn: [] } } })).toEqual([]);
    expect((await search(bot, 'apple'))[0]!.file.tags).toEqual({ state: 'final' });
  });

  it('excludes a deleted file from search at once, though its points still exist', async () => {
    const bot = newBot();
    const [deleted, expired] = [
      await store(bot, 'deleted', ['one apple']),
      await store(bot, 'expired', ['two apples']),
    ];
    await store(bot, 'declared', ['three apples']);
    await store(bot, 'kept', ['four apples']);

    await bot.delete(deleted);
    await sql.query(`UPDATE file SET expires_at = now() - interval '1 ms' WHERE id = $1`, [expired]);
    await bot.upsert({ key: 'declared', size: 1, index: true });

    expect(await keys(bot, 'apple', { limit: 1 })).toEqual(['kept']);
    expect(await keys(bot, 'apple')).toEqual(['kept']);
    expect(await points.count(bot.id)).toBe(4);
  });
});

describe('a search by a restricted caller', () => {
  it('finds readable files for a restricted caller, and nothing else', async () => {
    const bot = newBot();
    const [slack, teams, ann] = [bot.byIntegration('slack'), bot.byIntegration('teams'), bot.forUser('user_ann')];
    await store(bot, 'private', ['one apple']);
    await store(bot, 'integrations', ['two apples'], { accessPolicies: ['integrations'] });
    await store(bot, 'public', ['three apples'], { accessPolicies: ['public_content'] });
    await store(slack, 'of slack', ['four apples']);
    await store(ann, 'of ann', ['five apples']);

    expect(await keys(bot, 'apple')).toEqual(['integrations', 'of ann', 'of slack', 'private', 'public']);
    expect(await keys(slack, 'apple')).toEqual(['integrations', 'of slack']);
    expect(await keys(teams, 'apple')).toEqual(['integrations']);
    expect(await keys(ann, 'apple')).toEqual(['of ann', 'public']);
    expect(await keys(bot.forUser('user_bob'), 'apple')).toEqual(['public']);
    expect(await keys(newBot(), 'apple')).toEqual([]);
  });

  it('finds readable files behind more passages than a search reads, with one query of the index', async () => {
    const bot = newBot();
    const slack = bot.byIntegration('slack');
    await store(bot, 'private', Array<string>(5_100).fill('an apple a day'));
    await store(slack, 'far', ['zzzz qqqq apple']);

    const { found, lists, searches } = await counted(() => keys(slack, 'an apple a day'));

    expect(found).toEqual(['far']);
    expect({ lists, searches }).toEqual({ lists: 1, searches: 1 });
  });

  it('finds nothing, without an embedding, when no file is readable', async () => {
    const bot = newBot();
    await store(bot, 'private', ['one apple']);
    await bot.upload('not indexed', 'x', { accessPolicies: ['public_content'] });
    const expired = await store(bot, 'expired', ['two apples'], { accessPolicies: ['public_content'] });
    await sql.query(`UPDATE file SET expires_at = now() - interval '1 ms' WHERE id = $1`, [expired]);
    embeddings.order('apple of nobody', { status: 500, message: 'out of order' });

    const { found, searches } = await counted(() => keys(bot.forUser('user_ann'), 'apple of nobody'));

    expect(found).toEqual([]);
    expect(searches).toBe(0);
  });

  it('finds readable files when they are too many for the filter of the index', async () => {
    const bot = newBot();
    const slack = bot.byIntegration('slack');
    const { id } = await slack.upload('other', 'x');
    await sql.query(
      `INSERT INTO file SELECT (jsonb_populate_record(file, jsonb_build_object('id', 'file_of_many_' || n, 'key', n,
         'status', 'indexing_completed', 'active_version', 'v1'))).* FROM file, generate_series(1, 1001) AS n WHERE id = $1`,
      [id],
    );
    await store(bot, 'private', Array<string>(1_000).fill('an apple a day'));
    await store(slack, 'far', ['zzzz qqqq apple']);

    const { found, searches } = await counted(() => keys(slack, 'an apple a day'));

    expect(found).toEqual(['far']);
    // With a filter of file ids, the index would have been asked once.
    expect(searches).toBeGreaterThan(1);
  });

  it('does not list files for a caller that may read everything', async () => {
    const bot = newBot();
    await store(bot, 'private', ['one apple']);

    const { found, lists } = await counted(() => keys(bot, 'apple'));

    expect(found).toEqual(['private']);
    expect(lists).toBe(0);
  });
});

describe('the context of a passage', () => {
  const breadcrumb = ['Book', 'Chapter'];
  let bot: BotFiles;

  beforeAll(async () => {
    bot = newBot();
    await store(bot, 'a.txt', paragraphs(30), { breadcrumb });
    await store(bot, 'b.txt', ['Something else.']);
  });

  it.each([0, 1, 2, 9, 10])(
    'returns %i passages on each side as context, within the document',
    async (contextDepth) => {
      for (const place of [0, 5, 15, 29]) {
        const query = paragraphs(30)[place]!;

        const [found] = await search(bot, query, { limit: 1, withContext: true, contextDepth });

        const first = Math.max(0, place - contextDepth);
        const last = Math.min(29, place + contextDepth);
        expect(found!.context!.map(({ text }) => text)).toEqual(paragraphs(30).slice(first, last + 1));
        expect(found!.context!.map(({ offset }) => offset)).toEqual(
          Array.from({ length: last - first + 1 }, (_, n) => first + n - place),
        );
        for (const { offset, type, text } of found!.context!) {
          expect(type).toBe(offset === 0 ? 'current' : offset! < 0 ? 'preceding' : 'subsequent');
          if (type === 'current') expect(text).toBe(query);
        }
      }
    },
  );

  it('returns one passage on each side as context by default, and none without withContext', async () => {
    const query = paragraphs(30)[15]!;

    const [near] = await search(bot, query, { limit: 1, withContext: true });
    const [without] = await search(bot, query, { limit: 1, contextDepth: 5 });

    expect(near!.context!.map(({ offset }) => offset)).toEqual([-1, 0, 1]);
    expect(without!.context).toBeUndefined();
    expect(without!.content).toBe(query);
  });

  it('begins the context of a passage with the breadcrumb; without a context, the passage does', async () => {
    const query = paragraphs(30)[15]!;
    const ask = async (options: Partial<SearchFiles>) => (await search(bot, query, { limit: 1, ...options }))[0]!;

    expect((await ask({ withContext: true, includeBreadcrumb: true })).context![0]).toEqual({
      type: 'breadcrumb',
      text: 'Book > Chapter',
    });
    expect((await ask({ includeBreadcrumb: true })).content).toBe(`Book > Chapter\n\n${query}`);
    expect((await ask({ includeBreadcrumb: true, consolidate: true, contextDepth: 0 })).content).toBe(
      `Book > Chapter\n\n${query}`,
    );
    const [plain] = await search(bot, 'Something else.', { limit: 1, includeBreadcrumb: true });
    expect(plain!.content).toBe('Something else.');
  });

  it('returns a consolidated context as one text in document order, with a mark at each gap', async () => {
    const texts = paragraphs(30).map((text, n) => (n === 3 || n === 20 ? 'A zebra in the zoo.' : text));
    const zebras = newBot();
    await store(zebras, 'a.txt', texts);
    const ask = async (contextDepth: number) =>
      search(zebras, 'A zebra in the zoo', { limit: 2, consolidate: true, contextDepth });
    const part = (first: number, last: number) => texts.slice(first, last + 1).join('\n\n');

    expect((await ask(0)).map(({ content }) => content)).toEqual([`${texts[3]}\n\n[…]\n\n${texts[20]}`]);
    expect((await ask(1)).map(({ content }) => content)).toEqual([`${part(2, 4)}\n\n[…]\n\n${part(19, 21)}`]);
    expect((await ask(8)).map(({ content }) => content)).toEqual([part(0, 28)]);
    expect((await ask(10))[0]).toMatchObject({
      content: part(0, 29),
      meta: { type: 'consolidated', position: 0 },
      file: { key: 'a.txt' },
    });
    expect((await ask(10))[0]!.context).toBeUndefined();
  });
});

describe('an embedding server', () => {
  it.each([
    ['that fails', { status: 500, message: 'out of order' } as const],
    ['that has no such model', { status: 404, message: 'out of order' } as const],
    ['that does not know its key', { status: 401, message: 'out of order' } as const],
    ['that may not be asked', { status: 403, message: 'out of order' } as const],
    ['that has moved', { status: 307, message: 'out of order' } as const],
    ['that is busy', { status: 429, message: 'too many' } as const],
    ['that never answers', 'never' as const],
    ['that answers nonsense', 'garbage' as const],
  ])('answers searches with 503 for an embedding server %s, and exposes no internals', async (name, order) => {
    const bot = newBot();
    await store(bot, 'a.txt', ['one apple']);
    const query = `apple ${name}`;
    embeddings.order(query, order);

    await expect(search(bot, query)).rejects.toMatchObject({
      code: 503,
      message: 'The embedding model does not answer. Try again in a moment.',
    });

    embeddings.order(query, 'well');
    expect(await search(bot, query)).toHaveLength(1);
  });

  it.each([400, 413, 422])('quotes an embedding server that rejects a query with %d in the error', async (status) => {
    embeddings.order('refused', { status, message: 'This query is too long for the model.' });

    await expect(search(newBot(), 'refused')).rejects.toMatchObject({
      type: 'InvalidQuery',
      message: expect.stringMatching(/^query cannot be embedded: .*too long for the model/),
    });
  });
});
