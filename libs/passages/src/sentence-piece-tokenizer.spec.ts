import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { SentencePieceTokenizer, type TokenizerModel } from './sentence-piece-tokenizer';

const model = gunzipSync(readFileSync(join(__dirname, '../model/tokenizer.json.gz'))).toString();
const tokenizer = new SentencePieceTokenizer(JSON.parse(model) as TokenizerModel);
const references = readFileSync(join(__dirname, 'test/reference.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { text: string; ids: number[] });

it('returns the ids of the SentencePiece library', () => {
  const differing = references.filter(({ text, ids }) => !isDeepStrictEqual(tokenizer.encode(text), ids));

  expect(references).toHaveLength(70);
  expect(differing.map(({ text }) => text.slice(0, 50))).toEqual([]);
});
