import { processorMsOf } from '@parley/child-processes/runnable-time';
import { childPids } from '@parley/testing/child-pids';
import { waitFor } from '@parley/testing/wait-for';
import { identifierOf, responseOf } from './results';
import { VrlRunner } from './vrl-runner';

const vrl = new VrlRunner();

afterAll(() => vrl.close());

describe('a script', () => {
  it.each([
    [
      'text of its input',
      '"https://x.example/?state=" + to_string!(.webhookId)',
      { webhookId: 'w' },
      'https://x.example/?state=w',
    ],
    ['a part of JSON', 'body = parse_json!(.body)\nbody.team.id', { body: '{"team":{"id":"T1"}}' }, 'T1'],
    ['a number', '3', {}, 3],
    ['nothing', 'null', {}, null],
    ['an object', '{"status": 202, "body": .path}', { path: '/x' }, { status: 202, body: '/x' }],
  ])('runs a script that returns %s', async (_case, script, data, result) => {
    expect(await vrl.run('one', { script, data })).toEqual({ result });
  });

  it('returns the input of a script as it left it, if requested', async () => {
    const script = { script: '.b = 2', data: { a: 1 } };

    expect(await vrl.run('one', { ...script, isDataWanted: true })).toEqual({ result: 2, data: { a: 1, b: 2 } });
    expect(await vrl.run('one', script)).toEqual({ result: 2 });
  });

  it.each([
    ['does not compile', 'foo(', 'syntax error'],
    ['aborts', 'abort', 'aborted'],
    ['meets an error', 'parse_json!("x")', 'unable to parse json'],
    ['reads an environment variable', 'get_env_var!("PATH")', 'environment variable not found'],
    ['asks for the name of the host', 'get_hostname!()', 'not supported'],
    ['asks a name server', 'dns_lookup!("example.com")', 'not supported'],
    ['returns too much', `x = "aaaaaaaa"\n${'x = x + x\n'.repeat(14)}x`, 'more than 100000 bytes'],
    ['takes too much memory', `x = "aaaaaaaa"\n${'x = x + x\n'.repeat(40)}strlen(x)`, 'too much memory'],
  ])('reports a problem for a script that %s, and runs the next one', async (_case, script, problem) => {
    expect(await vrl.run('one', { script, data: {} })).toEqual({ problem: expect.stringContaining(problem) });
    expect(await vrl.run('one', { script: '1', data: {} })).toEqual({ result: 1 });
  });

  it('reports a problem for a script that takes too long, and runs the next one', async () => {
    const problem = expect.stringContaining('longer than 2000 ms') as string;

    expect(await vrl.run('one', { script: loops(9), data: {} })).toEqual({ problem });
    expect(await vrl.run('one', { script: '1', data: {} })).toEqual({ result: 1 });
  });

  it('returns 503 for a script whose child process is killed, and runs the next one', async () => {
    const failed = expect(vrl.run('one', { script: loops(9), data: {} })).rejects.toMatchObject({ code: 503 });
    const { pid } = await waitFor(
      async () => {
        const [pid = 0] = childPids('run-script.child');
        return { pid, usedMs: (await processorMsOf(pid)) ?? 0 };
      },
      ({ usedMs }) => usedMs > 1_000,
    );
    process.kill(pid, 'SIGKILL');

    await failed;
    expect(await vrl.run('one', { script: '1', data: {} })).toEqual({ result: 1 });
  });

  it('refuses a script when too many of its tenant wait, and runs that of another tenant', async () => {
    const many = Promise.allSettled(Array.from({ length: 150 }, () => vrl.run('one', { script: '1', data: {} })));

    expect(await vrl.run('other', { script: '2', data: {} })).toEqual({ result: 2 });
    const refused = (await many).flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(refused.length).toBeGreaterThan(40);
    expect(refused[0]).toMatchObject({ code: 503 });
  });
});

it('accepts text and numbers as identifiers, and nothing else', () => {
  const results = ['T1', 3, 0.5, '', null, undefined, true, {}, 'x'.repeat(201), NaN, 'a\0'];

  expect(results.map(identifierOf)).toEqual(['T1', '3', '0.5', ...Array.from({ length: 8 }, () => undefined)]);
});

it('accepts objects as responses', () => {
  expect(responseOf({})).toEqual({ status: 200, headers: {}, body: '' });
  expect(responseOf({ status: 403, headers: { a: 'b', c: 1 }, body: { d: 1 } })).toEqual({
    ...{ status: 403, headers: { a: 'b' }, body: '{"d":1}' },
  });
  expect([{ status: 99 }, { status: 'x' }].map((result) => responseOf(result)!.status)).toEqual([200, 200]);
  expect(['x', 3, null, []].map(responseOf)).toEqual([undefined, undefined, undefined, undefined]);
});

/** Nested loops over ten entries. */
function loops(depth: number): string {
  const opening = Array.from({ length: depth }, (_, index) => `for_each(a) -> |_i, v${index}| {`).join(' ');
  return `a = [1,2,3,4,5,6,7,8,9,10]\n${opening} .x = v0 ${'}'.repeat(depth)}\n1`;
}
