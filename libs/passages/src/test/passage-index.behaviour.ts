import { randomUUID } from 'node:crypto';
import { documentTerms, queryTerms } from '../lexicon';
import type { KnownModel, PassageIndex, PassagePoint, PassageQuery } from '../passage-index';

export const testEmbedder = { model: 'test/three-dimensions', dimensions: 3 };

export function point(overrides: Partial<PassagePoint> & { text?: string } = {}): PassagePoint {
  const { text = 'nothing in particular', ...rest } = overrides;
  return {
    id: randomUUID(),
    fileId: 'file_a',
    contentVersion: 'v1',
    vector: Float32Array.of(1, 0, 0),
    terms: documentTerms(text),
    tags: {},
    ...rest,
  };
}

export function query(overrides: Partial<PassageQuery> & { text?: string } = {}): PassageQuery {
  const { text = '', ...rest } = overrides;
  return { vector: Float32Array.of(1, 0, 0), terms: queryTerms(text), limit: 10, ...rest };
}

/** Behaviour suite of every PassageIndex adapter. `open` returns a prepared index; each test uses its own bot. */
export function describePassageIndex(open: () => PassageIndex, openModel: () => KnownModel = () => testEmbedder): void {
  const idsOf = async (botId: string, overrides: Parameters<typeof query>[0] = {}) =>
    (await open().search(botId, query(overrides))).map(({ id }) => id);

  it('prepares an index again, also concurrently', async () => {
    await Promise.all([open().ready(), open().ready(), open().ready()]);

    await expect(open().ready()).resolves.toBeUndefined();
  });

  it('finds no points of an empty bot', async () => {
    const bot = randomUUID();

    await expect(open().search(bot, query({ text: 'anything' }))).resolves.toEqual([]);
    await expect(open().count(bot)).resolves.toBe(0);
  });

  it('finds a point immediately, with its file and content version', async () => {
    const bot = randomUUID();
    const written = point({ fileId: 'file_x', contentVersion: 'v7' });

    await open().write(bot, [written]);

    const [hit] = await open().search(bot, query());
    expect(hit).toEqual({
      id: written.id,
      fileId: 'file_x',
      contentVersion: 'v7',
      score: expect.any(Number) as number,
      words: 0,
    });
    expect(hit!.score).toBeGreaterThan(0);
  });

  it('finds points by meaning and by words, and ranks points that match both first', async () => {
    const bot = randomUUID();
    const others = Array.from({ length: 120 }, () => point({ vector: Float32Array.of(0, 0.8, 0.6) }));
    const near = point({ text: 'other words entirely', vector: Float32Array.of(0.96, 0, 0.28) });
    const worded = point({ text: 'the invoice number', vector: Float32Array.of(0, 0, 1) });
    const both = point({ text: 'every invoice', vector: Float32Array.of(0.96, 0.28, 0) });

    await open().write(bot, [...others, near, worded, both]);

    const found = await idsOf(bot, { text: 'Invoice', limit: 3 });
    expect(found[0]).toBe(both.id);
    expect(new Set(found)).toEqual(new Set([near.id, worded.id, both.id]));
  });

  it('scores by the cosine similarity when the query has no words', async () => {
    const bot = randomUUID();
    const near = point({ text: 'other words entirely', vector: Float32Array.of(0.8, 0.6, 0) });
    const opposite = point({ text: 'invoice', vector: Float32Array.of(-1, 0, 0), tags: { kind: 'far' } });
    const others = Array.from({ length: 120 }, () => point({ vector: Float32Array.of(0, 0, 1) }));
    await open().write(bot, [opposite, ...others, near]);
    const hits = await open().search(bot, query({ limit: 200 }));
    const [best, ...more] = await open().search(bot, query({ limit: 1 }));
    const [tagged] = await open().search(bot, query({ limit: 1, tags: { kind: { in: ['far'], notIn: [] } } }));

    expect(hits).toHaveLength(122);
    expect([hits[0], hits.at(-1)].map((hit) => hit?.id)).toEqual([near.id, opposite.id]);
    expect(hits[0]!.score).toBeCloseTo(0.8, 5);
    expect(hits[1]!.score).toBeCloseTo(0, 5);
    expect(hits.at(-1)!.score).toBeCloseTo(-1, 5);
    expect(best).toEqual(hits[0]);
    expect(more).toEqual([]);
    expect(tagged).toEqual(hits.at(-1));
  });

  it('weighs a rare word higher than a common one', async () => {
    const bot = randomUUID();
    const far = Float32Array.of(0, 0, 1);
    const others = Array.from({ length: 120 }, () => point({ vector: far }));
    const common = Array.from({ length: 30 }, () => point({ text: 'parrot', vector: far }));
    const rare = point({ text: 'cockatoo', vector: far });

    await open().write(bot, [...others, ...common, rare]);

    const found = await idsOf(bot, { text: 'parrot cockatoo' });
    expect(found[0]).toBe(rare.id);
    expect(common.map(({ id }) => id)).toEqual(expect.arrayContaining(found.slice(1)));
  });

  it('scores by meaning and by the share of the words of the query, weighted by their rarity', async () => {
    const bot = randomUUID();
    const [both, near, worded] = [
      point({ text: 'the invoice', vector: Float32Array.of(0.6, 0.8, 0) }),
      point({ vector: Float32Array.of(0.8, 0.6, 0) }),
      point({ text: 'an invoice of many words', vector: Float32Array.of(0, 0, 1) }),
    ];
    await open().write(bot, [worded, near, both]);
    const terms = queryTerms('invoice');
    const rarity = Math.log(1 + 1.5 / 2.5) / Math.log(1 + 3.5 / 0.5);
    const share = ({ terms: { indices, values } }: PassagePoint) =>
      (values[indices.indexOf(terms.indices[0]!)]! / 2.2) * rarity;

    const hits = await open().search(bot, query({ terms }));

    expect(hits.map(({ id }) => id)).toEqual([near.id, both.id, worded.id]);
    expect(hits[0]!.score).toBeCloseTo(0.8, 5);
    expect(hits[1]!.score).toBeCloseTo(1 - 0.4 * (1 - share(both)) ** 1.5, 5);
    expect(hits[2]!.score).toBeCloseTo(1 - (1 - share(worded)) ** 1.5, 5);
  });

  it('finds the point with an identifier first, however it is spelled', async () => {
    const bot = randomUUID();
    const points = Array.from({ length: 200 }, (_, n) =>
      point({
        text: `Error E-${4000 + n}, part SKU-${48200 + n}, firmware 2.${n % 7}.${n}: call.`,
        vector: Float32Array.of(0.6, 0.8, 0),
      }),
    );
    await open().write(bot, points);

    for (const text of ['E-4012', 'e4012', 'E 4012', 'sku 48212', 'SKU-48212', 'firmware 2.5.12']) {
      expect([text, (await idsOf(bot, { text }))[0]]).toEqual([text, points[12]!.id]);
    }
  });

  it('ranks points by the words of the bot only', async () => {
    const [bot, another] = [randomUUID(), randomUUID()];
    const far = Float32Array.of(0, 0, 1);
    const common = Array.from({ length: 30 }, () => point({ text: 'parrot', vector: far }));
    const rare = point({ text: 'cockatoo', vector: far });
    const near = Array.from({ length: 120 }, () => point({ vector: Float32Array.of(0.6, 0, 0.8) }));
    await open().write(bot, [...near, ...common, rare]);
    const scoreOfRare = async () =>
      (await open().search(bot, query({ text: 'parrot cockatoo', limit: 200 }))).find(({ id }) => id === rare.id)
        ?.score;
    const before = await scoreOfRare();
    expect(before).toBeGreaterThan(0);

    await open().write(
      another,
      Array.from({ length: 1_000 }, () => point({ text: 'cockatoo', vector: far })),
    );

    expect(await scoreOfRare()).toBe(before);
  });

  it('returns at most the limit of points, best first', async () => {
    const bot = randomUUID();
    const points = Array.from({ length: 30 }, (_, i) => {
      const angle = (i / 30) * (Math.PI / 2);
      return point({ vector: Float32Array.of(Math.cos(angle), Math.sin(angle), 0) });
    });

    await open().write(bot, [...points].reverse());

    await expect(idsOf(bot, { limit: 5 })).resolves.toEqual(points.slice(0, 5).map(({ id }) => id));
  });

  it('separates points of bots, even when they have the same id', async () => {
    const [mine, theirs] = [randomUUID(), randomUUID()];
    const shared = point({ fileId: 'file_mine' });

    await open().write(mine, [shared]);
    await open().write(theirs, [{ ...shared, fileId: 'file_theirs' }, point()]);

    await expect(open().search(mine, query())).resolves.toMatchObject([{ id: shared.id, fileId: 'file_mine' }]);
    await open().removeFile(theirs, 'file_mine', null);
    await open().dropTenant(theirs);
    await expect(open().count(mine)).resolves.toBe(1);
    await expect(open().search(mine, query())).resolves.toMatchObject([{ fileId: 'file_mine' }]);
  });

  it('replaces all fields of a point that is written again', async () => {
    const bot = randomUUID();
    const first = point({ text: 'before', contentVersion: 'v1', tags: { state: 'old' } });
    const second = point({ ...first, text: 'after', contentVersion: 'v2', tags: { state: 'new' } });
    await open().write(bot, [first]);
    await open().search(bot, query());

    await open().write(bot, [second]);

    await expect(open().count(bot)).resolves.toBe(1);
    await expect(open().search(bot, query())).resolves.toMatchObject([{ id: first.id, contentVersion: 'v2' }]);
    await expect(idsOf(bot, { tags: { state: { in: ['old'], notIn: [] } } })).resolves.toEqual([]);
  });

  it('writes points once for repeated writes and for duplicate ids in one write', async () => {
    const bot = randomUUID();
    const points = [point(), point()];

    await open().write(bot, [...points, points[0]!]);
    await open().write(bot, points);

    await expect(open().count(bot)).resolves.toBe(2);
    await expect(idsOf(bot)).resolves.toHaveLength(2);
  });

  it('writes an empty list, and more points than fit into one request', async () => {
    const bot = randomUUID();
    await open().write(bot, []);

    await open().write(
      bot,
      Array.from({ length: 1203 }, () => point()),
    );

    await expect(open().count(bot)).resolves.toBe(1203);
  });

  it('accepts points and queries without terms', async () => {
    const bot = randomUUID();
    const silent = point({ text: '…' });

    await open().write(bot, [silent]);

    await expect(idsOf(bot, { text: '?!' })).resolves.toEqual([silent.id]);
    await expect(idsOf(bot, { text: 'word' })).resolves.toEqual([silent.id]);
  });

  it('removes the points of a file except one version, and of no other file', async () => {
    const bot = randomUUID();
    const old = point({ contentVersion: 'v1' });
    const current = point({ contentVersion: 'v2' });
    const other = point({ fileId: 'file_b', contentVersion: 'v1' });
    await open().write(bot, [old, current, other]);
    await open().search(bot, query());

    await open().removeFile(bot, 'file_a', 'v2');

    expect(new Set(await idsOf(bot))).toEqual(new Set([current.id, other.id]));
    await expect(open().count(bot)).resolves.toBe(2);
  });

  it('removes all points of a file, also repeatedly', async () => {
    const bot = randomUUID();
    await open().write(bot, [point(), point({ contentVersion: 'v2' })]);
    await open().search(bot, query());

    await open().removeFile(bot, 'file_a', null);
    await open().removeFile(bot, 'file_a', null);
    await open().removeFile(bot, 'file_unknown', 'v1');

    await expect(idsOf(bot)).resolves.toEqual([]);
    await expect(open().count(bot)).resolves.toBe(0);
  });

  it('removes the points of several files and no others', async () => {
    const [bot, another] = [randomUUID(), randomUUID()];
    const points = ['file_a', 'file_b', 'file_c'].map((fileId) => point({ fileId }));
    await open().write(bot, points);
    await open().write(another, points);
    await open().search(bot, query());

    await open().removeFiles(bot, ['file_a', 'file_c', 'file_unknown']);
    await open().removeFiles(bot, []);

    expect(await idsOf(bot)).toEqual([points[1]!.id]);
    await expect(open().count(another)).resolves.toBe(3);
  });

  it('finds points by words alone as those of a model, and no others', async () => {
    const [bot, another] = [randomUUID(), randomUUID()];
    const worded = point({ text: 'the invoice', tags: { kind: 'old' } });
    await open().write(bot, [worded, point({ text: 'other words' })]);
    await open().write(another, [point({ text: 'the invoice' })]);
    const find = (more: Partial<Parameters<typeof query>[0]> = {}, model = openModel()) => {
      const { vector: _, ...words } = query({ text: 'invoice', ...more });
      return open().searchWords(bot, model, words);
    };

    const hits = await find();

    expect(hits.map(({ id }) => id)).toEqual([worded.id]);
    expect(hits[0]!.score).toBeGreaterThan(0);
    expect(hits[0]!.score).toBeLessThan(1);
    expect(await find({ tags: { kind: { in: ['new'], notIn: [] } } })).toEqual([]);
    expect(await find({ text: '?!' })).toEqual([]);
    expect(await find({}, { model: `unknown-${randomUUID()}`, dimensions: 3 })).toEqual([]);
  });

  it('drops a bot, which can be written again', async () => {
    const bot = randomUUID();
    const [gone, back] = [point(), point()];
    await open().write(bot, [gone]);
    await open().search(bot, query());

    await open().dropTenant(bot);
    await open().dropTenant(bot);

    await expect(open().count(bot)).resolves.toBe(0);
    await expect(idsOf(bot)).resolves.toEqual([]);
    await open().write(bot, [back]);
    await expect(idsOf(bot)).resolves.toEqual([back.id]);
  });

  it('filters points by tags: included values, excluded values, all entries', async () => {
    const bot = randomUUID();
    const [red, blue, plain] = [
      point({ tags: { color: 'red', size: 'big' } }),
      point({ tags: { color: 'blue', size: 'big' } }),
      point({ tags: { size: 'small' } }),
    ];
    await open().write(bot, [red, blue, plain]);
    const found = async (tags: PassageQuery['tags']) => new Set(await idsOf(bot, { tags, text: 'particular' }));

    expect(await found({})).toEqual(new Set([red.id, blue.id, plain.id]));
    expect(await found({ color: { in: [], notIn: [] } })).toEqual(new Set([red.id, blue.id, plain.id]));
    expect(await found({ color: { in: ['red', 'green'], notIn: [] } })).toEqual(new Set([red.id]));
    expect(await found({ color: { in: [], notIn: ['red'] } })).toEqual(new Set([blue.id, plain.id]));
    expect(await found({ color: { in: ['red', 'blue'], notIn: ['red'] } })).toEqual(new Set([blue.id]));
    expect(await found({ color: { in: ['red'], notIn: [] }, size: { in: ['small'], notIn: [] } })).toEqual(new Set());
    expect(await found({ size: { in: ['big'], notIn: [] }, color: { in: [], notIn: ['blue'] } })).toEqual(
      new Set([red.id]),
    );
  });

  it('replaces the terms of points, and neither their vectors nor those of other versions and bots', async () => {
    const [bot, other] = [randomUUID(), randomUUID()];
    const [changed, newer] = [point({ text: 'old words' }), point({ text: 'old words', contentVersion: 'v2' })];
    const gone = point();
    await open().write(bot, [changed, newer]);
    await open().write(other, [changed]);
    expect(await idsOf(bot, { text: 'fresh' })).toHaveLength(2);
    const terms = documentTerms('fresh terms');

    const replaced = [changed, newer, gone].map(({ id }) => ({ id, contentVersion: 'v1', terms }));
    await open().replaceTerms(bot, replaced);
    await open().replaceTerms(bot, []);

    const wordsOf = async (botId: string, text: string) => {
      const hits = await open().search(botId, query({ text, vector: Float32Array.of(0, 1, 0) }));
      return hits.filter(({ words }) => words > 0).map(({ id }) => id);
    };
    expect(await wordsOf(bot, 'fresh')).toEqual([changed.id]);
    expect(await wordsOf(bot, 'old')).toEqual([newer.id]);
    expect(await wordsOf(other, 'old')).toEqual([changed.id]);
    expect((await open().search(bot, query())).map(({ score }) => score)).toEqual([1, 1]);
    expect(await open().count(bot)).toBe(2);
  });

  it('replaces the tags of all versions of a file, and of no other file or bot', async () => {
    const [bot, another] = [randomUUID(), randomUUID()];
    const state = (value: string) => ({ state: { in: [value], notIn: [] } });
    const points = [point({ tags: { state: 'old', more: 'x' } }), point({ contentVersion: 'v2' })];
    const ids = points.map(({ id }) => id);
    const otherFile = point({ fileId: 'file_b', tags: { state: 'old' } });
    await open().write(bot, [...points, otherFile]);
    await open().write(another, points);
    await open().search(bot, query());

    await open().retag(bot, 'file_a', { state: 'new' });

    expect(new Set(await idsOf(bot, { tags: state('new') }))).toEqual(new Set(ids));
    expect(await idsOf(bot, { tags: { more: { in: ['x'], notIn: [] } } })).toEqual([]);
    expect(await idsOf(bot, { tags: state('old') })).toEqual([otherFile.id]);
    expect(await idsOf(another, { tags: state('new') })).toEqual([]);
    await open().retag(bot, 'file_a', {});
    expect(await idsOf(bot, { tags: state('new') })).toEqual([]);
    await expect(open().retag(randomUUID(), 'file_a', { state: 'new' })).resolves.toBeUndefined();
  });

  it('finds points that pass the filter even when nearer points do not', async () => {
    const bot = randomUUID();
    const nearer = Array.from({ length: 300 }, () => point({ tags: { lang: 'en' } }));
    const wanted = point({ tags: { lang: 'de' }, vector: Float32Array.of(0, 0, 1) });
    await open().write(bot, [...nearer, wanted]);

    await expect(idsOf(bot, { tags: { lang: { in: ['de'], notIn: [] } }, limit: 1 })).resolves.toEqual([wanted.id]);
  });

  it('finds only points of the requested files even when others are nearer', async () => {
    const bot = randomUUID();
    const nearer = Array.from({ length: 300 }, () => point({ text: 'apple' }));
    const far = Float32Array.of(0, 0, 1);
    const [one, two] = [point({ fileId: 'file_b', vector: far }), point({ fileId: 'file_c', vector: far })];
    const tagged = point({ fileId: 'file_c', vector: far, tags: { lang: 'de' } });
    await open().write(bot, [...nearer, one, two, tagged]);
    const found = async (fileIds: string[], overrides: Parameters<typeof query>[0] = {}) =>
      new Set(await idsOf(bot, { text: 'apple', fileIds, ...overrides }));

    expect(await found(['file_b', 'file_unknown'])).toEqual(new Set([one.id]));
    expect(await found(['file_b', 'file_c'])).toEqual(new Set([one.id, two.id, tagged.id]));
    expect(await found(['file_b', 'file_c'], { text: '?!' })).toEqual(new Set([one.id, two.id, tagged.id]));
    expect(await found(['file_b', 'file_c'], { tags: { lang: { in: ['de'], notIn: [] } } })).toEqual(
      new Set([tagged.id]),
    );
    expect(await found(['file_unknown'])).toEqual(new Set());
    expect(await found([])).toEqual(new Set());
  });

  it.each(['a.b', 'a"b', "it's", 'a[0]', 'a=b', '__proto__', 'constructor', 'größe 🦜', ' ', ''])(
    'filters points by a tag named %j',
    async (name) => {
      const bot = randomUUID();
      const tagged = point({ tags: Object.fromEntries([[name, 'yes=1']]) });
      await open().write(bot, [tagged, point()]);
      const filter = (entry: { in: string[]; notIn: string[] }) => Object.fromEntries([[name, entry]]);

      await expect(idsOf(bot, { tags: filter({ in: ['yes=1'], notIn: [] }) })).resolves.toEqual([tagged.id]);
      await expect(idsOf(bot, { tags: filter({ in: ['no'], notIn: [] }) })).resolves.toEqual([]);
      await expect(idsOf(bot, { tags: filter({ in: [], notIn: ['yes=1'] }) })).resolves.not.toContain(tagged.id);
    },
  );

  it('refuses vectors of a different length', async () => {
    const bot = randomUUID();
    const vector = Float32Array.of(1, 0);

    await expect(open().write(bot, [point({ vector })])).rejects.toThrow('2 dimensions instead of 3');
    await expect(open().search(bot, query({ vector }))).rejects.toThrow('2 dimensions instead of 3');
  });
}
