import { allOperations } from '@parley/contracts/contracts';
import { ApiError } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import type { Class, Operation } from '@parley/contracts/operation';
import { fieldSources, type FieldSource } from '@parley/contracts/query-fields';
import { InputReader, type RawInput } from './bodies/input-reader';
import { fieldsOf } from './test/contract-fields';
import { casesOf } from './test/field-cases';
import { baseOf, smallestOf } from './test/field-values';
import { parameterCases } from './test/parameter-cases';

type Json = Record<string, unknown>;
type Path = (string | number)[];

interface Trial {
  input: RawInput;
  path: Path;
  sent: unknown;
  /** Expected value after reading; undefined when the field is dropped. */
  value?: unknown;
  refusal?: { type: string; begins: string[]; words: string };
}

const partOf = { path: 'path', query: 'query', header: 'headers' } as const;
const errorOf = { path: 'ResourceNotFound', query: 'InvalidQuery', header: 'InvalidPayload' } as const;

function readerOf(operation: Operation): (input: RawInput) => Json {
  if (operation.route) {
    const reader = new InputReader(operation);
    return (input) => reader.read(input) as Json;
  }
  return ({ body }) => {
    const input = toInstance(operation.input as Class<object>, body) as Json;
    const problems = problemsOf(input);
    if (problems.length > 0) throw new ApiError('InvalidPayload', `${problems.join('; ')}.`);
    return input;
  };
}

function sourcesOf({ input, route }: Operation): FieldSource[] {
  return route ? fieldSources(input) : [];
}

function rightInput(operation: Operation): RawInput {
  const right: RawInput = { body: baseOf(operation.input as Class<object>), path: {}, query: {}, headers: {} };
  for (const source of sourcesOf(operation)) Object.assign(right[partOf[source.in]], parameterCases(source)[0]!.sent);
  return right;
}

function* trialsOf(operation: Operation, right: RawInput): Generator<Trial> {
  for (const source of sourcesOf(operation)) {
    const part = partOf[source.in];
    const { [source.parameter]: _own, ...others } = right[part];
    for (const { sent, value, problem } of parameterCases(source)) {
      const input = { ...right, [part]: { ...others, ...sent } };
      const begins = [source.in === 'header' ? source.parameter : source.name].flatMap((name) => [
        name,
        `each ${name}`,
      ]);
      const refusal = problem === undefined ? undefined : { type: errorOf[source.in], begins, words: problem };
      yield { input, path: [source.name], sent, value, refusal };
    }
  }
  const whole = right.body as Json;
  for (const [name, value] of Object.entries(whole)) yield { input: right, path: [name], sent: value, value };
  const required = smallestOf(operation.input as Class<object>);
  for (const { path, lead, name, value, problem, isDropped } of casesOf(operation.input as Class<object>)) {
    // Without the other optional fields: reading them for each value would take most of the time.
    const body = path[0]! in whole ? { ...required, [path[0]!]: whole[path[0]!] } : required;
    const input = { ...right, body: withValue(body, path, value) };
    const begins = [`${lead}${name}`, `${lead}each value in ${name}`];
    const refusal = problem === undefined ? undefined : { type: 'InvalidPayload', begins, words: problem };
    yield { input, path, sent: value, value: isDropped ? undefined : value, refusal };
  }
  if (!operation.route) return;
  for (const { path, value } of textsIn(whole)) {
    const input = { ...right, body: withValue(whole, path, `${value}\0`) };
    const refusal = {
      type: 'InvalidPayload',
      begins: [path.join('.')],
      words: 'must not contain the character U+0000',
    };
    yield { input, path, sent: `${value}\0`, refusal };
  }
}

/** Undefined when the input is read or refused as expected. */
function failureOf({ input, path, sent, value, refusal }: Trial, read: (input: RawInput) => Json): string | undefined {
  const failed = (words: string) => `${path.join('.')} = ${shown(sent)} was ${words}`;
  let found: unknown;
  try {
    found = path.reduce<unknown>((inside, name) => (inside as Json | undefined)?.[name], read(input));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { type, message } = error;
    if (!refusal) return failed(`refused: ${message}`);
    const isTold = refusal.begins.some((words) => message.startsWith(words)) && message.includes(refusal.words);
    // One sentence: the other fields are valid.
    if (type === refusal.type && isTold && !message.includes('; ')) return undefined;
    return failed(
      `refused by ${type} "${message}" instead of ${refusal.type} "${refusal.begins[0]} … ${refusal.words}"`,
    );
  }
  if (refusal) return failed(`accepted instead of refused by "${refusal.begins[0]} … ${refusal.words}"`);
  return found === value || JSON.stringify(found) === JSON.stringify(value)
    ? undefined
    : failed(`read as ${shown(found)}`);
}

function withValue(body: Json, [name, ...path]: Path, value: unknown): Json {
  const changed = path.length > 0 ? withValue(body[name!] as Json, path, value) : value;
  const copy = (Array.isArray(body) ? [...(body as unknown[])] : { ...body }) as Json;
  if (changed === undefined) delete copy[name!];
  else copy[name!] = changed;
  return copy;
}

function* textsIn(value: unknown, path: Path = []): Generator<{ path: Path; value: string }> {
  if (typeof value === 'string') yield { path, value };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* textsIn(inner, [...path, name]);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 80 ? `${text.slice(0, 80)}… (${text.length} characters)` : text;
}

describe('each field of', () => {
  it.each(allOperations.map((operation) => [operation.subject, operation] as const))(
    'applies the rules of each field of %s at its limits and beyond',
    (_subject, operation) => {
      const read = readerOf(operation);
      const right = rightInput(operation);

      const failures = [...trialsOf(operation, right)].map((trial) => failureOf(trial, read));

      expect(failures.filter((failure) => failure !== undefined)).toEqual([]);
    },
  );

  it('passes each field of an operation without a body in path, query or headers', () => {
    const bodiless = allOperations.filter(({ route }) => /^(GET|DELETE) /.test(route ?? ''));

    const fields = bodiless.flatMap(({ input }) => fieldsOf(input as Class<object>));

    expect(fields).toEqual([]);
  });
});

const text = (length: number) => 'x'.repeat(length);
const entries = (count: number, entry: unknown = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`N${index}`, entry]));
const list = (count: number, entry: unknown = 'x') => Array.from({ length: count }, () => entry);
const json = (bytes: number) => ({ text: text(bytes - '{"text":""}'.length) });

const createBot = 'POST /v1/admin/bots';
const updateBot = 'PUT /v1/admin/bots/{id}';
const createIntegration = 'POST /v1/admin/integrations';
const updateWorkspace = 'PUT /v1/admin/workspaces/{id}';
const upsertFile = 'PUT /v1/files';
const createUser = 'POST /v1/chat/users';
const createMessage = 'POST /v1/chat/messages';
const setState = 'POST /v1/chat/states/{type}/{id}/{name}';
const findRows = 'POST /v1/tables/{table}/rows/find';
const passages = 'PUT /v1/files/{id}/passages';
const parsing = 'indexing.configuration.parsing';
const chunking = 'indexing.configuration.chunking';
const summarization = 'indexing.configuration.summarization';

/** Limits that users rely on: an invalid value and the expected problem, where `$` is the name of the field. */
const limits: [line: string, field: string, value: unknown, problem: string][] = [
  ['GET /v1/files', 'limit', '201', '$ must be an integer from 1 to 200'],
  ['GET /v1/files', 'pageSize', '0', '$ must be an integer from 1 to 200'],
  ['GET /v1/files', 'nextToken', text(8001), '$ must be at most 8000 characters'],
  ['GET /v1/files', 'ids', list(51), '$ must have at most 50 entries'],
  ['GET /v1/files', 'sortField', 'x', '$ must be one of: createdAt, updatedAt, key, size, status'],
  ['GET /v1/files/{id}', 'id', text(2001), '$ must be at most 2000 characters'],
  ['GET /v1/files/search', 'query', undefined, '$ is missing'],
  ['GET /v1/files/search', 'limit', '51', '$ must be an integer from 1 to 50'],
  ['GET /v1/files/search', 'minScore', '1.01', '$ must be a number from 0 to 1'],
  [
    'POST /v1/files/{idOrKey}/{destinationKey}',
    'x-destination-bot-id',
    text(201),
    '$ must be a single value of at most 200 characters',
  ],
  [upsertFile, 'key', undefined, '$ is missing'],
  [upsertFile, 'key', '', '$ must be longer than or equal to 1 characters'],
  [upsertFile, 'key', text(1001), '$ must be shorter than or equal to 1000 characters'],
  [upsertFile, 'size', -1, '$ must not be less than 0'],
  [upsertFile, 'tags', null, '$ must be an object'],
  [upsertFile, 'tags', entries(101), '$ must have at most 100 entries'],
  [upsertFile, 'tags', { [text(201)]: 'x' }, `$ has a name "${text(100)}…" that does not match ^.{0,200}$`],
  [upsertFile, 'metadata', json(131_073), '$ must be at most 131072 bytes of JSON'],
  [upsertFile, 'contentType', `a/${text(254)}`, '$ must be shorter than or equal to 255 characters'],
  [
    upsertFile,
    'accessPolicies',
    ['private'],
    'each value in accessPolicies must be one of the following values: public_content, integrations',
  ],
  [upsertFile, 'expiresAt', '2026-01-31 12:00:00Z', '$ must be a valid ISO 8601 date string'],
  [upsertFile, `${parsing}.minimumParagraphLength`, 49, '$ must not be less than 50'],
  [upsertFile, `${parsing}.minimumParagraphLength`, 2001, '$ must not be greater than 2000'],
  [upsertFile, `${chunking}.maximumChunkLength`, 99, '$ must not be less than 100'],
  [upsertFile, `${chunking}.maximumChunkLength`, 5001, '$ must not be greater than 5000'],
  [upsertFile, `${chunking}.embeddedContextLevels`, 4, '$ must not be greater than 3'],
  [upsertFile, `${summarization}.minimumInputLength`, 999, '$ must not be less than 1000'],
  [upsertFile, `${summarization}.outputTokenLimit`, 10_001, '$ must not be greater than 10000'],
  [upsertFile, 'indexing.configuration.stack', 'v1', '$ must be one of the following values: legacy, realtime-v1'],
  [passages, 'passages', list(5001, { content: 'x' }), '$ must have at most 5000 entries'],
  [
    passages,
    'passages',
    [{ content: text(10_001) }],
    'passages[0].content must be shorter than or equal to 10000 characters',
  ],

  [createBot, 'name', text(201), '$ must be shorter than or equal to 200 characters'],
  [createBot, 'description', text(2001), '$ must be shorter than or equal to 2000 characters'],
  [createBot, 'maxExecutionTime', 0, '$ must not be less than 1'],
  [createBot, 'maxExecutionTime', 3601, '$ must not be greater than 3600'],
  [createBot, 'code', text(25_000_001), '$ must be at most 25000000 bytes'],
  [createBot, 'tags', { a: text(501) }, '$ has an entry "a" that must be at most 500 characters'],
  [createBot, 'secrets', entries(26), '$ must have at most 25 entries'],
  [createBot, 'secrets', { A: text(20_001) }, '$ has an entry "A" that must be at most 20000 characters'],
  [createBot, 'secrets', { key: 'x' }, '$ has a name "key" that does not match ^[A-Z][A-Z0-9_]{0,199}$'],
  [createBot, 'states', entries(21, { type: 'bot', schema: {} }), '$ must have at most 20 entries'],
  [
    createBot,
    'states.N0.expiry',
    2_592_000_001,
    'states has an entry "N0" whose expiry must not be greater than 2592000000',
  ],
  [createBot, 'events', entries(21, { schema: {} }), '$ must have at most 20 entries'],
  [
    createBot,
    'events.N0.schema',
    json(102_401),
    'events has an entry "N0" whose schema must be at most 102400 bytes of JSON',
  ],
  [createBot, 'configuration.data', json(20_481), '$ must be at most 20480 bytes of JSON'],
  [updateBot, 'integrations', { 'a#b': {} }, '$ has a name "a#b" that does not match ^[^#:]{1,200}$'],
  [updateBot, 'url', `https://example.com/${text(1981)}`, '$ must be shorter than or equal to 2000 characters'],
  [createIntegration, 'title', text(65), '$ must be shorter than or equal to 64 characters'],
  [createIntegration, 'icon', text(2_000_001), '$ must be shorter than or equal to 2000000 characters'],
  [createIntegration, 'url', 'ftp://example.com', '$ must be a URL address'],
  [createIntegration, 'attributes', entries(51), '$ must have at most 50 entries'],
  ['POST /v1/admin/workspaces', 'name', text(65), '$ must be shorter than or equal to 64 characters'],
  [updateWorkspace, 'spendingLimit', 1000.5, '$ must not be greater than 1000'],
  [updateWorkspace, 'socialAccounts', list(6), '$ must contain no more than 5 elements'],

  [createUser, 'tags', undefined, '$ is missing'],
  [createUser, 'tags', entries(51), '$ must have at most 50 entries'],
  [createUser, 'tags', { a: text(501) }, '$ has an entry "a" that must be at most 500 characters'],
  [createUser, 'pictureUrl', `data:,${text(39_995)}`, '$ must be shorter than or equal to 40000 characters'],
  [createUser, 'properties', entries(101), '$ must have at most 100 entries'],
  ['POST /v1/chat/conversations', 'channel', text(201), '$ must be shorter than or equal to 200 characters'],
  [createMessage, 'userId', text(27), '$ must be an id of 28 to 36 characters, as returned by the API'],
  [createMessage, 'type', text(201), '$ must be shorter than or equal to 200 characters'],
  [createMessage, 'payload', json(131_073), '$ must be at most 131072 bytes of JSON'],
  [createMessage, 'schedule.delay', 366 * 86_400_000 + 1, '$ must not be greater than 31622400000'],
  ['POST /v1/chat/messages/import-messages', 'messages', list(101, {}), '$ must have at most 100 entries'],
  [setState, 'type', 'planet', '$ must be one of: conversation, user, bot, integration, workflow'],
  [setState, 'expiry', 2_592_000_001, '$ must not be greater than 2592000000'],
  [setState, 'payload', json(131_073), '$ must be at most 131072 bytes of JSON'],
  ['POST /v1/chat/events', 'payload', json(131_073), '$ must be at most 131072 bytes of JSON'],
  [
    'POST /chat/{webhookId}/users',
    'id',
    text(71),
    '$ must be 1 to 70 characters of a-z, A-Z, 0-9, "_", "-", "\\" and "/"',
  ],

  ['POST /v1/tables', 'name', text(51), '$ must be 1 to 50 letters, digits and underscores'],
  ['POST /v1/tables', 'factor', 31, '$ must not be greater than 30'],
  ['POST /v1/tables', 'keyColumn', text(31), '$ must be shorter than or equal to 30 characters'],
  ['POST /v1/tables/{table}/rows', 'rows', list(1001, {}), '$ must have 1 to 1000 entries'],
  ['POST /v1/tables/{table}/rows/delete', 'ids', list(1001, 1), '$ must contain no more than 1000 elements'],
  [findRows, 'search', text(1025), '$ must be shorter than or equal to 1024 characters'],
  [findRows, 'limit', 0, '$ must not be less than 1'],
  [findRows, 'limit', 1001, '$ must not be greater than 1000'],
];

/** Fields that may be null or absent, each of another kind. */
const spared: [line: string, field: string, value: null | undefined][] = [
  [upsertFile, 'tags', undefined],
  [updateBot, 'url', undefined],
  [updateBot, 'url', null],
  [updateBot, 'states.N0', null],
  [updateBot, 'subscriptions.events', null],
  [setState, 'payload', null],
  [setState, 'expiry', undefined],
  ['POST /v1/admin/interfaces', 'nameTemplate', null],
];

describe('a limit that users rely on:', () => {
  function problemOf(line: string, field: string, value: unknown): string | undefined {
    const operation = allOperations.find(({ route }) => route === line)!;
    const right = rightInput(operation);
    const source = sourcesOf(operation).find(({ parameter }) => parameter === field);
    const input = source
      ? { ...right, [partOf[source.in]]: { ...right[partOf[source.in]], [field]: value } }
      : { ...right, body: withValue(right.body as Json, field.split('.'), value) };
    try {
      readerOf(operation)(input);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  it.each(limits)('applies a limit that users rely on: %s refuses %s', (line, field, value, problem) => {
    expect(problemOf(line, field, value)).toBe(`${problem.replace('$', field)}.`);
  });

  it.each(spared)('applies a limit that users rely on: %s takes %s as %s', (line, field, value) => {
    expect(problemOf(line, field, value)).toBeUndefined();
  });
});
