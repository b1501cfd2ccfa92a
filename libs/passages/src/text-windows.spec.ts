import { textWindows } from './text-windows';

it('does not split a short text', () => {
  expect(textWindows('short', 10)).toEqual(['short']);
  expect(textWindows('', 10)).toEqual(['']);
});

it('splits a long text before spaces into windows of similar size', () => {
  expect(textWindows('one two three four five six', 14)).toEqual(['one two three', ' four five six']);
});

it.each([
  ['prose', 'The gateway holds no business rule. '.repeat(200)],
  ['one endless word', 'x'.repeat(5001)],
  ['pairs of surrogates', '🦜'.repeat(777)],
])('keeps all of %s, with no window above the maximum size', (_, text) => {
  const windows = textWindows(text, 101);

  expect(windows.join('')).toBe(text);
  expect(Math.max(...windows.map((window) => window.length))).toBeLessThanOrEqual(101);
  expect(windows.map((window) => Buffer.from(window).toString()).join('')).toBe(text);
});
