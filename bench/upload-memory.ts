import { Agent } from 'node:http';
import { startDistributed } from '@parley/testing/running-platform';
import { S3Server } from '@parley/testing/s3-server';
import { peaks, residentMb } from './memory';
import type { Result, Row } from './result';
import { put } from './upload';
import { newLogFile, openBot, productEnv, type Workbench } from './workbench';

const filesAtOnce = 20;
const fileBytes = 50_000_000;

/** Memory of the files service during 20 concurrent uploads, with a folder and with a fake S3 as blob store. */
export async function benchUploadMemory(bench: Workbench): Promise<Result[]> {
  const s3 = bench.session.keep(await S3Server.start());
  const uploads = [await upload(bench, 'folder', {}), await upload(bench, 'S3', s3.env)];
  return [
    {
      title: `Distributed mode: memory of the files service while ${filesAtOnce} uploads of ${fileBytes / 1e6} MB stream at once`,
      rows: uploads.map(({ row }) => row),
      aims: uploads.map(({ row: { name, figures } }) => ({
        name: `peak memory, ${name}`,
        value: figures['peak MB'],
        unit: ' MB',
        below: 300,
      })),
      notes: ['Resident memory, maximum of two rounds. A fake S3 runs in the process of the load generator.'],
      errors: uploads.flatMap(({ errors }) => errors),
      rounds: {},
    },
  ];
}

async function upload(bench: Workbench, name: string, env: Record<string, string>) {
  const { session } = bench;
  const options = { env: { ...productEnv(bench), ...env }, logFile: newLogFile(bench) };
  const platform = session.keep(await startDistributed(options));
  const { client } = await openBot(platform);
  const agent = new Agent({ keepAlive: true });
  const memory = () => [residentMb(platform.pids['files']!)];
  const errors: string[] = [];
  const round = async () => {
    session.checkpoint();
    const declared = Array.from({ length: filesAtOnce }, (_, n) =>
      client.upsertFile({ key: `${n}.bin`, size: fileBytes }),
    );
    const urls = (await Promise.all(declared)).map(({ file }) => file.uploadUrl);
    const statuses = await Promise.all(urls.map((url) => put(agent, url, fileBytes)));
    errors.push(
      ...statuses.filter((status) => status !== 200).map((status) => `${name}: upload answered with status ${status}`),
    );
  };
  const [idleMb] = memory();
  const started = performance.now();
  const [peakMb] = await peaks(memory, async () => {
    await round();
    await round();
  });
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  await platform.stop();
  const figures = {
    'idle MB': idleMb!,
    'peak MB': peakMb!,
    'MB a second': (2 * filesAtOnce * fileBytes) / 1e6 / seconds,
  };
  return { row: { name, figures } satisfies Row, errors };
}
