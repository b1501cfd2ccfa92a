import { readableLine } from './readable-line';

const at = new Date(2026, 0, 31, 9, 5, 7, 8);

function shown(fields: object, options = { hasColors: false }): string {
  return readableLine(`${JSON.stringify({ level: 40, time: at.toISOString(), name: 'files', ...fields })}\n`, options);
}

it('shows time, level, name, message and other fields in one line', () => {
  expect(shown({ loop: 'files.clean', found: 3, ids: ['a'], msg: 'found work' })).toBe(
    '09:05:07.008 WARN  files: found work loop=files.clean found=3 ids=["a"]\n',
  );
});

it.each([
  [10, 'TRACE'],
  [20, 'DEBUG'],
  [30, 'INFO '],
  [50, 'ERROR'],
  [60, 'FATAL'],
])('names the level %d of a log line', (level, name) => {
  expect(shown({ level, msg: 'text' })).toBe(`09:05:07.008 ${name} files: text\n`);
});

const err = { type: 'Error', message: 'no answer', stack: 'Error: no answer\n    at connect (a.js:1:2)', code: 503 };

it('shows the reason of a warning without its stack', () => {
  expect(shown({ err, msg: 'a round failed' })).toBe('09:05:07.008 WARN  files: a round failed: no answer\n');
});

it('shows the stack of an error below', () => {
  expect(shown({ level: 50, err, msg: 'a round failed' })).toBe(
    '09:05:07.008 ERROR files: a round failed: no answer\n    Error: no answer\n        at connect (a.js:1:2)\n',
  );
});

it('does not repeat an error that is the message', () => {
  expect(shown({ err, msg: 'no answer' })).toBe('09:05:07.008 WARN  files: no answer\n');
});

it('escapes characters that would change the terminal or forge a line', () => {
  expect(shown({ key: 'a\u009bb', 'k\u001b': 1, msg: 'red \u001b[31m\nline' })).toBe(
    '09:05:07.008 WARN  files: red \\u001b[31m\\u000aline key=a\\u009bb k\\u001b=1\n',
  );
});

it('quotes values with spaces', () => {
  expect(shown({ queue: 'two words', empty: '', msg: 'text' })).toBe(
    '09:05:07.008 WARN  files: text queue="two words" empty=""\n',
  );
});

it('colours the level where the terminal has colours', () => {
  expect(shown({ msg: 'text' }, { hasColors: true })).toBe('09:05:07.008 \u001b[33mWARN \u001b[39m files: text\n');
});

it('leaves a line that is no JSON as it is', () => {
  expect(readableLine('text\n', { hasColors: false })).toBe('text\n');
});
