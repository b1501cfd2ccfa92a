import { chartBlocks } from './office-charts';

const read = (content: string) => chartBlocks(Buffer.from(`<c:chartSpace>${content}</c:chartSpace>`));
const rich = (...runs: string[]) =>
  `<c:tx><c:rich><a:p>${runs.map((run) => `<a:r><a:t>${run}</a:t></a:r>`).join('')}</a:p></c:rich></c:tx>`;
const title = (...runs: string[]) => `<c:title>${rich(...runs)}</c:title>`;
const points = (values: string[]) => values.map((value, i) => `<c:pt idx="${i}"><c:v>${value}</c:v></c:pt>`).join('');
const texts = (...values: string[]) => `<c:strRef><c:f>A1</c:f><c:strCache>${points(values)}</c:strCache></c:strRef>`;
const numbers = (code: string, ...values: string[]) =>
  `<c:numRef><c:numCache><c:formatCode>${code}</c:formatCode>${points(values)}</c:numCache></c:numRef>`;
const series = (name: string, categories: string, values: string) =>
  `<c:ser><c:tx>${texts(name)}</c:tx><c:cat>${categories}</c:cat><c:val>${values}</c:val></c:ser>`;

it('writes a title, and a table with a line for each category and a column for each series', () => {
  const years = texts('2024', '2025');
  const all =
    series('Herring', years, numbers('General', '1834', '0.30000000000000004')) +
    series('Cod', years, numbers('0%', '0.5'));
  const axes = `<c:catAx>${title('Year')}</c:catAx><c:valAx>${title('Tonnes')}</c:valAx>`;

  expect(read(`<c:chart>${title('Fish ', 'landed')}<c:plotArea>${all}${axes}</c:plotArea></c:chart>`)).toEqual([
    { type: 'paragraph', text: 'Fish landed\nTonnes' },
    { type: 'table', headerLines: 1, text: 'Year | Herring | Cod\n2024 | 1834 | 50%\n2025 | 0.3 |' },
  ]);
});

it('writes tables of their own for series with other categories', () => {
  const scatter = (name: string, x: string, y: string) =>
    `<c:ser><c:tx><c:v>${name}</c:v></c:tx><c:xVal>${numbers('General', x)}</c:xVal><c:yVal>${numbers('General', y)}</c:yVal></c:ser>`;

  expect(read(scatter('a', '1', '2') + scatter('b', '3', '4')).map(({ text }) => text)).toEqual([
    '| a\n1 | 2',
    '| b\n3 | 4',
  ]);
});

it('names each category with the levels above it', () => {
  const levels = `<c:multiLvlStrRef><c:multiLvlStrCache><c:lvl>${points(['May', 'June'])}</c:lvl><c:lvl>${points(['2025'])}</c:lvl></c:multiLvlStrCache></c:multiLvlStrRef>`;

  expect(read(series('Tonnes', levels, numbers('General', '1', '2')))[0]!.text).toBe(
    '| Tonnes\n2025 May | 1\n2025 June | 2',
  );
});

it('reads dates and labels of points', () => {
  const label = `<c:dLbls><c:dLbl>${rich('record')}</c:dLbl></c:dLbls>`;
  const one = series('Tonnes', numbers('yyyy\\-mm\\-dd', '45000'), numbers('General', '7'));

  expect(read(one.replace('<c:cat>', `${label}<c:cat>`)).map(({ text }) => text)).toEqual([
    '| Tonnes\n2023-03-15 | 7',
    'record',
  ]);
});

it('reads the newer kinds of charts', () => {
  const dimension = (kind: string, value: string) =>
    `<cx:${kind}Dim><cx:lvl><cx:pt idx="0">${value}</cx:pt></cx:lvl></cx:${kind}Dim>`;
  const text = (value: string) => `<cx:tx><cx:txData><cx:v>${value}</cx:v></cx:txData></cx:tx>`;
  const data = `<cx:data id="1">${dimension('str', 'Rope')}${dimension('num', '3')}</cx:data>`;

  expect(
    read(
      `${data}<cx:chart><cx:title>${text('Stock')}</cx:title><cx:series>${text('Coils')}<cx:dataId val="1"/></cx:series></cx:chart>`,
    ),
  ).toEqual([
    { type: 'paragraph', text: 'Stock' },
    { type: 'table', headerLines: 1, text: '| Coils\nRope | 3' },
  ]);
});

it('writes nothing for a chart without texts', () => {
  expect(read('<c:chart><c:plotArea><c:ser/></c:plotArea></c:chart>')).toEqual([]);
});

it('takes no memory for points with a far index', () => {
  const far = '<c:pt idx="99999999"><c:v>1</c:v></c:pt><c:pt idx="1e308"><c:v>2</c:v></c:pt>';

  expect(read(series('a', '', `<c:numLit>${far}</c:numLit>`))[0]!.text).toBe('| a\n| 1\n| 2');
});
