import { createWriteStream, openAsBlob } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDistributed } from '@parley/testing/running-platform';
import { peaks, residentMb } from './memory';
import type { Result } from './result';
import { blockName, columns, rowsOf } from './table-rows';
import { newLogFile, openBot, productEnv, type Workbench } from './workbench';

const fileBytes = 200_000_000;
const pollMs = 500;

/** Speed of the import and export of a large CSV file, and peak memory of the tables process. */
export async function benchTableImport(bench: Workbench): Promise<Result[]> {
  const { session, folder } = bench;
  const options = { env: productEnv(bench), logFile: newLogFile(bench) };
  const platform = session.keep(await startDistributed(options));
  const { client } = await openBot(platform);
  const { table } = await client.createTable({ name: 'Imported', schema: { type: 'object', properties: columns } });
  const path = join(folder, 'rows.csv');
  await pipeline(Readable.from(csv(fileBytes)), createWriteStream(path));
  const content = await openAsBlob(path);
  const { file } = await client.upsertFile({ key: 'rows.csv', size: content.size });
  const response = await fetch(file.uploadUrl, { method: 'PUT', body: content });
  if (!response.ok) throw new Error(`The upload failed with status ${response.status}: ${await response.text()}`);

  const memory = () => [residentMb(platform.pids['tables']!)];
  const ended = async (id: string) => {
    for (;;) {
      session.checkpoint();
      await sleep(pollMs);
      const { jobs } = await client.getTableJobs({ table: table.id });
      const job = jobs.find((one) => one.id === id)!;
      if (job.status === 'failed') throw new Error(JSON.stringify(job));
      if (job.status === 'completed') return;
    }
  };
  const measure = async (begin: () => Promise<{ job: { id: string } }>) => {
    const started = performance.now();
    const [peak] = await peaks(memory, async () => ended((await begin()).job.id));
    return { peakMb: peak!, seconds: (performance.now() - started) / 1000 };
  };
  const [idleMb] = memory();
  const imported = await measure(() => client.importTable({ table: table.id, fileId: file.id }));
  const { rows } = (await client.getTable({ table: table.id })) as unknown as { rows: number };
  const exported = await measure(() => client.exportTable({ table: table.id }));

  const figuresOf = ({ peakMb, seconds }: typeof imported) => ({
    'rows/s': rows / seconds,
    'MB/s': content.size / 1e6 / seconds,
    'idle MB': idleMb!,
    'peak MB': peakMb,
  });
  return [
    {
      title: `Distributed mode: a CSV file of ${Math.round(content.size / 1e6)} MB and ${rows} rows, and the tables process`,
      rows: [
        { name: 'import', figures: figuresOf(imported) },
        { name: 'export, packed', figures: figuresOf(exported) },
      ],
      aims: [{ name: 'peak memory of an import', value: imported.peakMb, unit: ' MB', below: 300 }],
      notes: ['Resident memory of the process of the tables service.'],
      errors: [],
      rounds: {},
    },
  ];
}

function* csv(bytes: number): Iterable<string> {
  const names = Object.keys(columns);
  let written = 0;
  for (let block = -1; written < bytes; block++) {
    const lines = block === -1 ? [names] : rowsOf(blockName(block)).map((row) => Object.values(row).map(cell));
    const text = `${lines.map((line) => line.join(',')).join('\n')}\n`;
    written += text.length;
    yield text;
  }
}

function cell(value: unknown): string {
  const text = String(value);
  return text.includes(',') ? `"${text}"` : text;
}
