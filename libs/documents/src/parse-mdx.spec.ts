import { parseMdx } from './parse-mdx';

const texts = (mdx: string) => parseMdx(mdx).map(({ text }) => text);

it('drops imports, exports, tags and expressions, and keeps the text between them', () => {
  const mdx = `import { Chart } from '../chart'
import Select from 'select'

export const meta = {
  title: 'Secret'
}

# Hello {props.name}!

<Callout type="info" icon={<Icon name="a" />}>
  Read **this** first.
</Callout>

<Select>One</Select> and <>two</> <Chart data={[1, {a: "}>"}]} />

- an {/* comment */}item
`;

  expect(parseMdx(mdx)).toEqual([
    { type: 'title', text: 'Hello !', level: 1 },
    { type: 'paragraph', text: 'Read this first.' },
    { type: 'paragraph', text: 'One and two' },
    { type: 'list', text: '- an item' },
  ]);
});

it('keeps code of MDX unchanged', () => {
  expect(texts('Use `<Tag a={1}>` so:\n\n```jsx\nimport a from "b"\n<Tag>{a}</Tag>\n```\n')).toEqual([
    'Use <Tag a={1}> so:',
    'import a from "b"\n<Tag>{a}</Tag>',
  ]);
});

it.each([
  ['a \\{b\\} c', 'a {b} c'],
  ['a < b and c > d', 'a < b and c > d'],
  ["<B>It's {a}'s</B> end", "It's 's end"],
  ['export is a word', 'export is a word'],
  ['we export it', 'we export it'],
  ['never { closed', 'never { closed'],
])('reads MDX with %s', (mdx, expected) => {
  expect(texts(mdx).join('\n')).toBe(expected);
});

it('reads a million unclosed braces', () => {
  expect(texts(`${'{'.repeat(1_000_000)}end`).join('')).toContain('end');
});
