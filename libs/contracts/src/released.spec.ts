import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { breakingChanges } from './test/breaking-changes';
import { currentShapes, type Fields, type Shapes } from './test/shapes';

/** The messages of the last release. Written anew, by `UPDATE_RELEASED=1`, when there is a new one. */
const path = join(__dirname, 'released.json');

it('speaks with processes of the last release, so that a rolling update loses nothing', async () => {
  const current = await currentShapes();
  if (process.env['UPDATE_RELEASED']) writeFileSync(path, `${JSON.stringify(current)}\n`);
  const released = JSON.parse(readFileSync(path, 'utf8')) as Shapes;

  expect(Object.keys(released.operations).length).toBeGreaterThan(200);
  expect(Object.keys(released.news).length).toBeGreaterThan(10);
  expect(Object.keys(released.consumers).length).toBeGreaterThan(10);
  expect(breakingChanges(released, current)).toEqual([]);
});

const text = { type: 'string', required: false };
const shapes = (input: Fields, output: Fields = {}, news: Fields = {}): Shapes => ({
  operations: { 'tables.get': { route: 'GET /v1/tables/{table}', status: 200, input, output } },
  news: { 'event tables.made': news },
  consumers: { 'files.count-tables': 'tables.made' },
});
const former = shapes(
  {
    name: { ...text, required: true, nullable: true },
    limit: { type: 'integer', required: false, atMost: { maximum: 100 } },
  },
  { id: { ...text, required: true }, tags: text },
  { id: { ...text, required: true }, reason: text },
);

describe('additions', () => {
  it.each<[string, Shapes]>([
    ['an optional field', shapes({ ...former.operations['tables.get']!.input, order: text })],
    [
      'a demanded field of something new',
      shapes({
        ...former.operations['tables.get']!.input,
        filter: { type: 'object', required: false },
        'filter.name': { ...text, required: true },
      }),
    ],
    [
      'a demanded field that is optional now',
      shapes({ ...former.operations['tables.get']!.input, name: { ...text, nullable: true } }),
    ],
    [
      'a larger limit',
      shapes({
        ...former.operations['tables.get']!.input,
        limit: { type: 'integer', required: false, atMost: { maximum: 1000 } },
      }),
    ],
  ])('break nothing: %s', (_name, { operations }) => {
    const now = {
      operations: { 'tables.get': { ...former.operations['tables.get']!, ...operations['tables.get'] } },
      news: former.news,
      consumers: { ...former.consumers, 'chat.count-tables': 'tables.made' },
    };
    now.operations['tables.get'].output = { ...former.operations['tables.get']!.output, more: text };

    expect(breakingChanges(former, now)).toEqual([]);
  });
});

describe('a change that breaks a rolling update is named', () => {
  const { input, output } = former.operations['tables.get']!;
  const news = former.news['event tables.made']!;
  const without = (fields: Fields, name: string) =>
    Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));

  it.each<[string, Shapes]>([
    ['tables.get is gone, and the former release asks it', { ...former, operations: {} }],
    ['tables.get, input: limit is gone', shapes(without(input, 'limit'), output, news)],
    [
      'tables.get, input: order is demanded, and was not known',
      shapes({ ...input, order: { ...text, required: true } }, output, news),
    ],
    [
      'tables.get, input: limit is demanded, and was optional',
      shapes({ ...input, limit: { ...input['limit']!, required: true } }, output, news),
    ],
    [
      'tables.get, input: limit takes less than it did',
      shapes({ ...input, limit: { ...input['limit']!, atMost: { maximum: 50 } } }, output, news),
    ],
    [
      'tables.get, input: name takes less than it did',
      shapes({ ...input, name: { ...input['name']!, enum: ['a'] } }, output, news),
    ],
    [
      'tables.get, input: name was of type string',
      shapes({ ...input, name: { ...input['name']!, type: 'integer' } }, output, news),
    ],
    [
      'tables.get, input: name may not be null, and could be',
      shapes({ ...input, name: { ...input['name']!, nullable: undefined } }, output, news),
    ],
    [
      'tables.get, output: tags may be null, and could not',
      shapes(input, { ...output, tags: { ...text, nullable: true } }, news),
    ],
    ['tables.get, output: tags is gone', shapes(input, without(output, 'tags'), news)],
    ['tables.get, output: id may be absent, and was not', shapes(input, { ...output, id: text }, news)],
    ['event tables.made: reason is gone', shapes(input, output, without(news, 'reason'))],
    ['event tables.made: id may be absent, and was not', shapes(input, output, { ...news, id: text })],
    [
      'event tables.made: at is demanded, and was not known',
      shapes(input, output, { ...news, at: { ...text, required: true } }),
    ],
    ['event tables.made is gone, and the former release tells it or hears it', { ...former, news: {} }],
    [
      'consumer files.count-tables is gone: under another name it gets 72 hours of events again, and what the server and ' +
        'KEDA know by the former one stays behind. Keep the name, or see docs/decisions/0039',
      { ...former, consumers: { 'files.count': 'tables.made' } },
    ],
    [
      'consumer files.count-tables had the event tables.made: give the one of tables.deleted another name',
      { ...former, consumers: { 'files.count-tables': 'tables.deleted' } },
    ],
  ])('%s', (sentence, now) => {
    expect(breakingChanges(former, now)).toEqual([sentence]);
  });
});
