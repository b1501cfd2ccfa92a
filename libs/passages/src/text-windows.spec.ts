import { textWindows } from './text-windows';

it('leaves a short text whole', () => {
  expect(textWindows('short', 10)).toEqual(['short']);
  expect(textWindows('', 10)).toEqual(['']);
});

it('cuts a long text into windows of about the same size, before a space', () => {
  expect(textWindows('one two three four five six', 14)).toEqual(['one two three', ' four five six']);
});

it.each([
  ['prose', 'The gateway holds no business rule. '.repeat(200)],
  ['one endless word', 'x'.repeat(5001)],
  ['pairs of surrogates', '🦜'.repeat(777)],
])('loses nothing of %s and keeps every window within the size', (_, text) => {
  const windows = textWindows(text, 101);

  expect(windows.join('')).toBe(text);
  expect(Math.max(...windows.map((window) => window.length))).toBeLessThanOrEqual(101);
  expect(windows.map((window) => Buffer.from(window).toString()).join('')).toBe(text);
});
