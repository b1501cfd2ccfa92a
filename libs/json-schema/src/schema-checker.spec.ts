import { processorMsOf } from '@parley/child-processes/runnable-time';
import { childPids } from '@parley/testing/child-pids';
import { waitFor } from '@parley/testing/wait-for';
import { SchemaChecker } from './schema-checker';

const slow = {
  schema: { properties: { a: { pattern: '^(a+)+$' } } },
  value: { a: `${'a'.repeat(40)}!` },
  path: 'slow',
};
/** A cheap check that still needs a child process. */
const right = { schema: { properties: { a: { pattern: '^a$' } } }, value: { a: 'a' }, path: 'right' };

/** Long enough for a busy machine. */
const patient = { deadlineMs: 60_000 };

describe('checking a value against a schema', () => {
  const checker = new SchemaChecker(patient);
  afterAll(() => checker.close());
  const problemOf = (schema: Record<string, unknown>, value: unknown) =>
    checker.firstProblem('one', [{ schema, value, path: 'configuration' }]);

  it.each([
    [{}, { anything: [1] }],
    [
      { type: 'object', properties: { a: { type: 'string', 'x-zui': {} } } },
      { a: 'x', b: 1 },
    ],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }, {}],
    [{ $id: 'x', $ref: '#/definitions/a', definitions: { a: { required: ['b'] } } }, { b: 1 }],
  ])('accepts by the schema %j the value %j', async (schema, value) => {
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
    [{ properties: { a: { format: 'email' } } }, { a: 'x' }, 'configuration.a must match format "email"'],
    [
      { $ref: 'https://example.com/other.json' },
      {},
      /^configuration cannot be validated because .* can't resolve reference/,
    ],
    [{ $async: true, required: ['a'] }, {}, "configuration must have required property 'a'"],
  ])('rejects by the schema %j the value %j', async (schema, value, problem) => {
    expect(await problemOf(schema, value)).toMatch(problem);
  });

  it('reports the first problem of several values', async () => {
    const problem = await checker.firstProblem('one', [
      { schema: {}, value: {}, path: 'one' },
      { schema: { required: ['a'] }, value: {}, path: 'two' },
      { schema: { required: ['a'] }, value: {}, path: 'three' },
    ]);

    expect(problem).toMatch(/^two /);
  });

  it('terminates slow checks without blocking the event loop', async () => {
    const impatient = new SchemaChecker({ ...patient, processorMs: 500 });
    let ticks = 0;
    const clock = setInterval(() => (ticks += 1), 20);

    const problem = await impatient.firstProblem('one', [slow]);

    clearInterval(clock);
    await impatient.close();
    expect(problem).toBe('slow takes too long to check against its schema');
    expect(ticks).toBeGreaterThan(1);
  });
});

describe('checking while slow checks take all child processes', () => {
  function busyChecker(limits: { deadlineMs: number; maxWaitingEach?: number }) {
    const checker = new SchemaChecker({ processorMs: 500, ...limits });
    const busy = Promise.all([checker.firstProblem('one', [slow]), checker.firstProblem('two', [slow])]);
    return { checker, busy };
  }

  const tooBusy = { type: 'Internal', code: 503, message: expect.stringMatching(/Try again in a moment\.$/) };

  it('limits the queue of a tenant for checks, and starts the limit of a queued one when it runs', async () => {
    const { checker, busy } = busyChecker({ ...patient, maxWaitingEach: 1 });
    const waiting = checker.firstProblem('one', [right]);

    await expect(checker.firstProblem('one', [right])).rejects.toMatchObject(tooBusy);

    expect(await waiting).toBeUndefined();
    expect(await checker.firstProblem('two', [right])).toBeUndefined();
    expect(await busy).toEqual(Array(2).fill('slow takes too long to check against its schema'));
    await checker.close();
  });

  it('limits the waiting time for a check', async () => {
    const { checker, busy } = busyChecker({ deadlineMs: 100 });

    await expect(checker.firstProblem('three', [right])).rejects.toMatchObject(tooBusy);

    busy.catch(() => undefined);
    await checker.close();
    await expect(busy).rejects.toMatchObject({ code: 503 });
  });
});

describe('a check in a child process', () => {
  let checker: SchemaChecker;

  beforeEach(() => (checker = new SchemaChecker(patient)));
  afterEach(() => checker.close());

  it('returns 503 when the child of a check is killed, and does the next check', async () => {
    const failed = expect(checker.firstProblem('one', [slow])).rejects.toMatchObject({
      code: 503,
      retryAfterSeconds: 1,
    });
    const { pid } = await runningChild();
    process.kill(pid, 'SIGKILL');

    await failed;
    expect(await checker.firstProblem('one', [right])).toBeUndefined();
  });

  it('checks however long the child has no processor', async () => {
    const hasty = new SchemaChecker({ ...patient, processorMs: 500 });
    const problem = hasty.firstProblem('one', [{ ...right, value: { a: 'b' } }]);
    const pid = await waitFor(() => childPids('schema-checks.child')[0], Boolean);
    process.kill(pid!, 'SIGSTOP');
    // Longer than the limit, by the clock that the limit does not use.
    const stopped = Date.now();
    await waitFor(() => Date.now() - stopped > 600);
    process.kill(pid!, 'SIGCONT');

    expect(await problem).toBe('right.a must match pattern "^a$"');
    await hasty.close();
  });
});

/** A child that has begun its check. */
function runningChild(): Promise<{ pid: number }> {
  return waitFor(
    async () => {
      const [pid = 0] = childPids('schema-checks.child');
      return { pid, usedMs: (await processorMsOf(pid)) ?? 0 };
    },
    ({ usedMs }) => usedMs > 1_000,
  );
}
