import { randomBytes } from 'node:crypto';
import { type Part, Parts } from './parts';
import { of } from './test/blob-store.behaviour';

const partBytes = 1024 * 1024;

async function partsOf(parts: Parts, ...chunks: (Uint8Array | Error)[]): Promise<Part[]> {
  const cut = parts.of(of(...chunks));
  const all: Part[] = [];
  for (let next = await cut.next(); ; next = await cut.next()) {
    all.push(next.value);
    if (next.done) return all;
  }
}

async function bytesOf(parts: Part[]): Promise<Buffer> {
  return Buffer.concat(await Promise.all(parts.map((part) => part.read())));
}

describe('Parts', () => {
  it('spills parts to disk when the buffers are used up, and reads them back completely', async () => {
    const content = randomBytes(3.5 * partBytes);

    const all = await partsOf(new Parts(partBytes, 1), content.subarray(0, 300_001), content.subarray(300_001));

    expect(all.map(({ length }) => length)).toEqual([partBytes, partBytes, partBytes, partBytes / 2]);
    expect((await bytesOf(all)).equals(content)).toBe(true);
    await Promise.all(all.map((part) => part.giveBack()));
  });

  it('takes no buffer for parts of small sources', async () => {
    const parts = new Parts(partBytes, 1);

    const small = await Promise.all(Array.from({ length: 5 }, () => partsOf(parts, Buffer.alloc(256 * 1024))));

    expect(small.flat().every(({ isSmall }) => isSmall)).toBe(true);
    expect(parts.takeIfFree()).toBeDefined();
  });

  it.each<[string, (parts: Parts) => Promise<unknown>]>([
    [
      'given back',
      async (parts) => {
        for (const part of await partsOf(parts, Buffer.alloc(3 * partBytes))) {
          await part.read();
          await part.giveBack();
          await part.discard();
        }
      },
    ],
    [
      'discarded',
      async (parts) => {
        for (const part of await partsOf(parts, Buffer.alloc(3 * partBytes))) {
          await part.read();
          await part.discard();
          await part.discard();
        }
      },
    ],
    ['cut', (parts) => partsOf(parts, Buffer.alloc(partBytes / 2), new Error('cut')).catch(() => undefined)],
  ])('frees exactly the buffers of parts once they are %s', async (_, use) => {
    const parts = new Parts(partBytes, 2);

    await use(parts);

    expect([parts.takeIfFree(), parts.takeIfFree(), parts.takeIfFree()].filter(Boolean)).toHaveLength(2);
  });
});
