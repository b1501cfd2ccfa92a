import { SharedEmbedder } from './shared-embedder';

const threadsOf = (embedder: SharedEmbedder) => [...embedder['shared'].embedder['workers']];

it('loads the model once for all users', async () => {
  const [files, tables] = [SharedEmbedder.open(1), SharedEmbedder.open(1)];

  await Promise.all([files.ready(), tables.ready()]);

  expect(threadsOf(files)).toHaveLength(1);
  expect(threadsOf(tables)).toEqual(threadsOf(files));
  await Promise.all([files.close(), tables.close()]);
});

it('ends the model with its last user, and rejects pending calls of a user that closes', async () => {
  const [files, tables] = [SharedEmbedder.open(1), SharedEmbedder.open(1)];
  const large = files.embed(Array.from({ length: 50 }, () => 'a text of some words'));
  large.catch(() => undefined);

  await files.close();
  await files.close();

  await expect(large).rejects.toThrow('The embedder is closed.');
  await expect(files.embed(['x'])).rejects.toThrow('The embedder is closed.');
  await expect(tables.embed(['x'])).resolves.toHaveLength(1);
  await tables.close();
  expect(threadsOf(tables)).toEqual([]);
});

it('loads the model again after its last user has closed', async () => {
  await SharedEmbedder.open(1).close();
  const later = SharedEmbedder.open(1);

  await expect(later.embed(['x'])).resolves.toHaveLength(1);

  await later.close();
});
