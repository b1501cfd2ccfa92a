import { SchemaChecker } from './schema-checker';

const slow = {
  schema: { properties: { a: { pattern: '^(a+)+$' } } },
  value: { a: `${'a'.repeat(40)}!` },
  path: 'slow',
};
/** A cheap check that still needs a thread. */
const right = { schema: { properties: { a: { pattern: '^a$' } } }, value: { a: 'a' }, path: 'right' };

describe('checking a value against a schema', () => {
  const checker = new SchemaChecker();
  afterAll(() => checker.close());
  const problemOf = (schema: Record<string, unknown>, value: unknown) =>
    checker.firstProblem([{ schema, value, path: 'configuration' }]);

  it.each([
    [{}, { anything: [1] }],
    [
      { type: 'object', properties: { a: { type: 'string', 'x-zui': {} } } },
      { a: 'x', b: 1 },
    ],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }, {}],
    [{ $id: 'x', $ref: '#/definitions/a', definitions: { a: { required: ['b'] } } }, { b: 1 }],
  ])('schema %j accepts %j', async (schema, value) => {
    expect(await problemOf(schema, value)).toBeUndefined();
  });

  it.each([
    [{ required: ['a'] }, {}, "configuration must have required property 'a'"],
    [{ required: ['toString'] }, {}, "configuration must have required property 'toString'"],
    [
      { properties: { a: { properties: { 'b/c': { type: 'string' } } } } },
      { a: { 'b/c': 1 } },
      'configuration.a.b/c must be string',
    ],
    [
      { properties: { a: { enum: ['x', 'y'] } } },
      { a: 'z' },
      'configuration.a must be equal to one of the allowed values: ["x","y"]',
    ],
    [{ additionalProperties: false }, { a: 1 }, 'configuration must NOT have additional properties: "a"'],
    [{ properties: { a: { format: 'email' } } }, { a: 'x' }, 'configuration.a must match format "email"'],
    [
      { $ref: 'https://example.com/other.json' },
      {},
      /^configuration cannot be validated because .* can't resolve reference/,
    ],
  ])('schema %j rejects %j', async (schema, value, problem) => {
    expect(await problemOf(schema, value)).toMatch(problem);
  });

  it('reports the first problem of several values', async () => {
    const problem = await checker.firstProblem([
      { schema: {}, value: {}, path: 'one' },
      { schema: { required: ['a'] }, value: {}, path: 'two' },
      { schema: { required: ['a'] }, value: {}, path: 'three' },
    ]);

    expect(problem).toMatch(/^two /);
  });

  it('terminates slow checks without blocking the event loop', async () => {
    const impatient = new SchemaChecker({ timeoutMs: 500 });
    let ticks = 0;
    const clock = setInterval(() => (ticks += 1), 20);

    const problem = await impatient.firstProblem([slow]);

    clearInterval(clock);
    await impatient.close();
    expect(problem).toBe('slow takes too long to check against its schema');
    expect(ticks).toBeGreaterThan(1);
  });
});

describe('checking while slow checks take all threads', () => {
  function busyChecker(limits: { waitMs: number; maxWaiting?: number }) {
    const checker = new SchemaChecker({ timeoutMs: 1_500, ...limits });
    const busy = Promise.all([checker.firstProblem([slow]), checker.firstProblem([slow])]);
    return { checker, busy };
  }

  const tooBusy = { type: 'Internal', code: 503, message: expect.stringMatching(/Try again in a moment\.$/) };

  it('limits the queue, and starts the timeout of a queued check when it runs', async () => {
    const { checker, busy } = busyChecker({ waitMs: 20_000, maxWaiting: 1 });
    const waiting = checker.firstProblem([right]);

    await expect(checker.firstProblem([right])).rejects.toMatchObject(tooBusy);

    expect(await waiting).toBeUndefined();
    expect(await busy).toEqual(Array(2).fill('slow takes too long to check against its schema'));
    await checker.close();
  });

  it('limits the waiting time', async () => {
    const { checker, busy } = busyChecker({ waitMs: 100 });

    await expect(checker.firstProblem([right])).rejects.toMatchObject(tooBusy);

    busy.catch(() => undefined);
    await checker.close();
    await expect(busy).rejects.toThrow('Terminating worker thread');
  });
});
