import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const logger = join(__dirname, '../../../dist/libs/logging/src/logger.js');

/** Process that logs the lines 0 to `count` - 1, and then does this. */
function logging(count: number, then: string) {
  const program = `
    const { createLogger } = require(${JSON.stringify(logger)});
    const logger = createLogger('test', 'info');
    for (let line = 0; line < ${count}; line++) logger.info({ line, note: 'ä 💬' }, 'a line');
    ${then}`;
  return spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
}

function linesIn(output: string): { line: number; note: string }[] {
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { line: number; note: string });
}

const ends: Record<string, string> = {
  'reaches its end': '',
  exits: 'process.exit();',
  throws: `throw new Error('the end');`,
};

/** Output of a process whose standard output is a terminal, according to Node. */
function onTerminal(env: NodeJS.ProcessEnv): Promise<string> {
  const program = `
    require('node:tty').isatty = () => true;
    process.stdout.hasColors = require('node:tty').WriteStream.prototype.hasColors;
    process.stdout.getColorDepth = require('node:tty').WriteStream.prototype.getColorDepth;
    require(${JSON.stringify(logger)}).createLogger('test', 'info').warn({ line: 1 }, 'a line');`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'], env });
  return text(child.stdout);
}

it.each([
  ['with colours on a terminal', { TERM: 'xterm-256color' }, '\u001b[33mWARN \u001b[39m'],
  ['without colours where NO_COLOR is set', { TERM: 'xterm-256color', NO_COLOR: '1' }, 'WARN '],
  ['without colours on a dumb terminal', { TERM: 'dumb' }, 'WARN '],
])('writes readable text %s', async (_name, env, level) => {
  expect((await onTerminal(env)).slice('hh:mm:ss.mmm '.length)).toBe(`${level} test: a line line=1\n`);
});

describe.each(Object.keys(ends))('A process that %s', (name) => {
  // The second number is more than is buffered at once.
  it.each([1, 3000])('writes %d lines in order before the process ends', async (count) => {
    const lines = linesIn(await text(logging(count, ends[name]!).stdout));

    expect(lines.map(({ line }) => line)).toEqual(Array.from({ length: count }, (_, line) => line));
    expect(lines.every(({ note }) => note === 'ä 💬')).toBe(true);
  });
});

it('writes log lines without waiting for more', async () => {
  const child = logging(2, 'setInterval(() => undefined, 1000);');
  let output = '';

  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk as string;
    if (linesIn(output).length === 2) child.kill('SIGKILL');
  }

  expect(linesIn(output)).toHaveLength(2);
});
