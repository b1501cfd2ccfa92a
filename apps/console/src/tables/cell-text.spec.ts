import { toText, toValue } from './cell-text';

describe('the text of a cell', () => {
  it.each([
    ['text', 'two\nlines'],
    ['number', -0.5],
    ['boolean', false],
    ['date', '2024-05-06T07:08:09.000Z'],
    ['json', { list: ['first', 2] }],
    ['json', 'text'],
    ['text', null],
  ] as const)('reads the text of a cell as the same %s', (kind, value) => {
    expect(toValue(kind, toText(kind, value))).toEqual(value);
  });

  it.each([
    ['number', 'Infinity'],
    ['number', ' '],
    ['date', 'tomorrow'],
    ['json', '{name: 1}'],
  ] as const)('refuses the text of a cell that is not of the type %s: %s', (kind, text) => {
    expect(() => toValue(kind, text)).toThrow(/^Write/);
  });
});
