const words = (
  'the harbour of Marlow has one quay two cranes and a lighthouse ships call from March to October when ice does not ' +
  'close the river every captain brings papers that name crew cargo and owner before anything is unloaded customs ' +
  'officers look at each crate weigh what they find and write it down in a ledger which is kept for ten years after ' +
  'that time nobody asks for old entries except people who study trade prices or weather along this coast'
).split(' ');

/** Deterministic Markdown of about this size: headings, paragraphs, lists and tables of English words. */
export function markdown(sizeBytes: number): string {
  const next = randomNumbers(7);
  const pick = () => words[Math.floor(next() * words.length)]!;
  const sentence = () => {
    const text = Array.from({ length: 6 + Math.floor(next() * 14) }, pick).join(' ');
    return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
  };
  const sentences = (count: number) => Array.from({ length: count }, sentence).join(' ');
  const blocks: string[] = [];
  let size = 0;
  const add = (block: string) => {
    blocks.push(block);
    size += block.length + 2;
  };
  for (let i = 0; size < sizeBytes; i++) {
    if (i % 6 === 0) add(`${i % 24 === 0 ? '#' : '##'} ${pick()} ${pick()} ${i}`);
    add(sentences(3 + (i % 4)));
    if (i % 10 === 3) add([1, 2, 3, 4].map(() => `- ${sentence()}`).join('\n'));
    if (i % 17 === 5) add(table(pick));
  }
  return `${blocks.join('\n\n')}\n`;
}

function table(pick: () => string): string {
  const rows = Array.from({ length: 8 }, () => `| ${pick()} ${pick()} | ${pick()} | ${pick()} |`);
  return ['| Name | From | To |', '| --- | --- | --- |', ...rows].join('\n');
}

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
