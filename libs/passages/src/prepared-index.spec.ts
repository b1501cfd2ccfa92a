import type { PassageIndex } from './passage-index';
import { PreparedIndex } from './prepared-index';

function indexThatFails(times: number) {
  const asked: string[] = [];
  let failuresLeft = times;
  const index: PassageIndex = {
    ready: () => {
      asked.push('ready');
      failuresLeft -= 1;
      return failuresLeft >= 0 ? Promise.reject(new Error('no answer')) : Promise.resolve();
    },
    write: () => Promise.resolve(void asked.push('write')),
    replaceTerms: () => Promise.resolve(void asked.push('replaceTerms')),
    retag: () => Promise.resolve(void asked.push('retag')),
    removeFile: () => Promise.resolve(void asked.push('removeFile')),
    removeFiles: () => Promise.resolve(void asked.push('removeFiles')),
    search: () => Promise.resolve([]),
    searchWords: () => Promise.resolve([]),
    dropTenant: () => Promise.resolve(void asked.push('dropTenant')),
    dropModel: () => Promise.resolve(void asked.push('dropModel')),
    count: () => Promise.resolve(7),
  };
  return { index, asked };
}

it('prepares the index once for concurrent first calls', async () => {
  const { index, asked } = indexThatFails(0);
  let learnt = 0;
  const prepared = new PreparedIndex(index, () => Promise.resolve(void (learnt += 1)));

  const counts = await Promise.all([prepared.count('a'), prepared.count('b')]);
  await prepared.write('a', []);

  expect(counts).toEqual([7, 7]);
  expect(asked.filter((verb) => verb === 'ready')).toHaveLength(1);
  expect(learnt).toBe(1);
});

it('does not use an index that is not ready, and prepares it again on the next call', async () => {
  const { index, asked } = indexThatFails(1);
  const prepared = new PreparedIndex(index, () => Promise.resolve());

  await expect(prepared.dropTenant('a')).rejects.toThrow('no answer');
  await prepared.dropTenant('a');

  expect(asked).toEqual(['ready', 'ready', 'dropTenant']);
});

it('prepares the index again for each call of ready()', async () => {
  const { index, asked } = indexThatFails(0);
  const prepared = new PreparedIndex(index, () => Promise.resolve());

  await prepared.write('a', []);
  await prepared.ready();
  await prepared.write('a', []);

  expect(asked).toEqual(['ready', 'write', 'ready', 'write']);
});
