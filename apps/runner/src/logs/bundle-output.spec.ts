import { BundleOutput, type PrintedLine } from './bundle-output';

let lines: PrintedLine[];
let dropped: number;
let now: number;
let output: BundleOutput;

beforeEach(() => {
  lines = [];
  dropped = 0;
  now = 0;
  output = new BundleOutput(
    (line) => lines.push(line),
    (count) => (dropped += count),
    // Prints at once: LineTurns has tests of its own.
    printAll,
    () => now,
  );
});

function printAll(waiting: BundleOutput): void {
  while (waiting.printNext());
}

const take = (text: string, invocationId?: string, stream: 'stdout' | 'stderr' = 'stdout') =>
  output.take({ invocationId, stream, text });

/** A call of `console.info`, as the host of the code sends it. */
const info = (text: string, invocationId?: string) =>
  output.take({ invocationId, stream: 'stdout', text: `${text}\n`, isOneWrite: true });
const messages = () => lines.map(({ message }) => message);

it('splits output into lines, wherever it was cut', () => {
  for (const text of ['on', 'e\ntw', 'o\n', '\n\nthree\n']) take(text);

  expect(lines.map(({ message }) => message)).toEqual(['one', 'two', 'three']);
});

it('keeps both streams of each invocation apart', () => {
  output.begin('a', { conversationId: 'conv-a', traceId: 't' });
  output.begin('b', { conversationId: 'conv-b' });
  take('a ', 'a');
  take('b ', 'b');
  take('error of a\n', 'a', 'stderr');
  take('one\n', 'a');
  take('two\n', 'b');
  take('outside\n');

  expect(lines).toEqual([
    { level: 'error', message: 'error of a', conversationId: 'conv-a', traceId: 't' },
    { level: 'info', message: 'a one', conversationId: 'conv-a', traceId: 't' },
    { level: 'info', message: 'b two', conversationId: 'conv-b' },
    { level: 'info', message: 'outside' },
  ]);
});

it('names the objects of a structured line instead of those of the invocation', () => {
  output.begin('a', { conversationId: 'conv-a', userId: 'user-a' });

  take('{"msg":"hi","level":"warn","options":{"conversationId":"conv-b"}}\n', 'a');

  expect(lines).toEqual([{ level: 'warn', message: 'hi', conversationId: 'conv-b', userId: 'user-a' }]);
});

it('keeps the lines of one write together, without blank ones around them', () => {
  info('\n\none\n  two\n\nthree\n');
  info('four');

  expect(messages()).toEqual(['one\n  two\n\nthree', 'four']);
});

it('keeps each write of two calls that print in turns together, also in parts', () => {
  output.begin('a', { userId: 'a' });
  output.begin('b', { userId: 'b' });
  for (const [id, text] of [
    ['a', 'one of a\nhalf '],
    ['b', 'one of b\ntwo of b\n'],
    ['a', 'of a\nthree of a\n'],
  ] as const)
    output.take({ invocationId: id, stream: 'stdout', text, isOneWrite: true });

  expect(lines.map(({ userId, message }) => [userId, message])).toEqual([
    ['a', 'one of a'],
    ['b', 'one of b\ntwo of b'],
    ['a', 'half of a\nthree of a'],
  ]);
});

it('starts another line of the log after 16,000 characters of a write or of a stack trace, and loses nothing', () => {
  const rows = Array.from({ length: 2_000 }, (_, index) => `    row ${index} ${'x'.repeat(20)}`);

  info(`table\n${rows.join('\n')}`);
  take(`trace\n${rows.join('\n')}\n`);

  for (const message of messages()) expect(message.length).toBeLessThanOrEqual(16_000);
  expect(messages().join('\n')).toBe(['table', ...rows, 'trace', ...rows].join('\n'));
  expect(lines.length).toBeLessThan(20);
});

it('keeps structured lines of one write apart', () => {
  const structured = (msg: string) => JSON.stringify({ msg, level: 'warn' });
  info([structured('one'), structured('two'), 'three', '{ "four": 4 }', structured('five'), 'six'].join('\n'));

  expect(lines.map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'one'],
    ['warn', 'two'],
    ['info', 'three\n{ "four": 4 }'],
    ['warn', 'five'],
    ['info', 'six'],
  ]);
});

it('joins the lines of a stack trace in output', () => {
  take('Error: boom\n    at one\n    at two\nnext\n', undefined, 'stderr');

  expect(lines.map(({ message }) => message)).toEqual(['Error: boom\n    at one\n    at two', 'next']);
});

it('prints an unfinished line at the end of its invocation, and later text as outside of it', () => {
  output.begin('a', { userId: 'u' });
  take('half', 'a');
  output.end('a');
  take('late\n', 'a');

  expect(lines).toEqual([
    { level: 'info', message: 'half', userId: 'u' },
    { level: 'info', message: 'late' },
  ]);
});

it('cuts long lines of output, also those without an end', () => {
  take(`${'a'.repeat(20_000)}\n`);
  for (let times = 0; times < 100; times += 1) take('b'.repeat(20_000));
  take('\n');

  expect(lines.map(({ message }) => [message[0], message.length < 40_000])).toEqual([
    ['a', true],
    ['b', true],
  ]);
  expect(lines[0]!.message).toMatch(/a … \(cut\)$/);
});

it('drops and counts output that exceeds 1 MB in a minute, and says so once', () => {
  const line = `${'a'.repeat(9_999)}\n`;
  for (let times = 0; times < 150; times += 1) take(line);
  expect(lines.filter(({ level }) => level === 'info')).toHaveLength(100);
  expect(lines.filter(({ level }) => level === 'warn')).toEqual([
    { level: 'warn', message: 'Output was dropped: more than 1 MB or 50,000 lines in a minute.' },
  ]);
  expect(dropped).toBe(50);

  now = 60_000;
  take('again\n');

  expect(lines.at(-1)).toEqual({ level: 'info', message: 'again' });
});

it('drops and counts output that exceeds 50,000 lines in a minute, blank ones too', () => {
  take('\n'.repeat(40_000));
  take('x\n'.repeat(20_000));

  expect(lines.filter(({ level }) => level === 'info')).toHaveLength(10_000);
  expect(lines.at(-1)).toEqual({ level: 'warn', message: expect.stringMatching(/^Output was dropped/) });
  expect(dropped).toBe(10_000);
});

it('keeps 20,000 rows of a list', () => {
  take(Array.from({ length: 20_000 }, (_, index) => `row ${index}\n`).join(''));

  expect(lines).toHaveLength(20_000);
  expect(lines.at(-1)!.message).toBe('row 19999');
});

it('takes little processor time for many blank lines', () => {
  const before = process.cpuUsage();

  take('\n'.repeat(50_000));

  // 20 to 40 ms. Copying all lines for each line took nine minutes.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
});

it('prints the lines of a text one at a time', () => {
  const waiting = jest.fn();
  const slow = new BundleOutput(
    (line) => lines.push(line),
    () => undefined,
    waiting,
  );
  slow.take({ stream: 'stdout', text: 'one\ntwo\n' });
  const steps: (string | undefined)[] = [];

  // The first step is the beginning of the output.
  const isMore = [1, 2, 3].map(() => {
    const more = slow.printNext();
    steps.push(lines.at(-1)?.message);
    return more;
  });

  expect(waiting).toHaveBeenCalledWith(slow);
  expect(steps).toEqual([undefined, 'one', 'two']);
  expect(isMore).toEqual([true, true, false]);
});

it('attributes a line to the bot that it names only while the code works for that bot', () => {
  output.begin('a', { botId: 'bot-a' });
  output.begin('b', { botId: 'bot-b' });
  const line = (botId: string) => `${JSON.stringify({ msg: 'x', level: 'info', botId, visible_to_bot_owner: true })}\n`;

  for (const botId of ['bot-b', 'bot-c']) take(line(botId), 'a');

  expect(lines).toEqual([
    { level: 'info', message: 'x', botId: 'bot-b', isForBot: true },
    { level: 'info', message: 'x', botId: undefined, isForBot: false },
  ]);
});
