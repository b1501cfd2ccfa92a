import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpoolFile, removeAbandonedSpoolFiles } from './spool-file';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-spool-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a spool file', () => {
  it('keeps an open spool file without a name in the file system', async () => {
    const file = await openSpoolFile(folder);
    await file.writeFile('content');

    expect(await readdir(folder)).toEqual([]);
    expect((await file.read(Buffer.alloc(7), 0, 7, 0)).buffer.toString()).toBe('content');
    await file.close();
  });

  it('removes the spool file of a killed process, and no other file', async () => {
    await writeFile(join(folder, 'parley-spool-0123'), '');
    await writeFile(join(folder, 'parley-spool-4567'), 'not empty');
    await writeFile(join(folder, 'other'), '');

    await removeAbandonedSpoolFiles(folder);

    expect((await readdir(folder)).sort()).toEqual(['other', 'parley-spool-4567']);
  });
});
