import { mkdir, rm } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { once } from 'node:events';
import type { Result } from './result';
import { type Round, type Side, compareSpeed, alternate, timed, toRow } from './rounds';
import { openBare, openBot, openEmbedded, type Workbench } from './workbench';

const filesAtOnce = 4;
/** Consecutive uploads per connection, so that a round takes about a second. */
const filesInRow = 3;
const largestFileMb = 64;
const bytesPerMb = 1_000_000;
const piece = Buffer.alloc(64 * 1024, 'All work and no play. ');

interface Candidate extends Side {
  declare(sizeBytes: number): Promise<string[]>;
  /** Deletes the uploads, to limit disk usage. */
  clear(): Promise<void>;
}

interface UploadRound extends Round {
  errors: string[];
}

/**
 * Upload throughput (MB per second) in embedded mode compared to Fastify that streams to disk. Shorter rounds use
 * smaller files.
 */
export async function benchUpload(bench: Workbench): Promise<Result[]> {
  const { session, options } = bench;
  const fileMb = Math.min(largestFileMb, 16 * options.seconds);
  const sides = [await startProduct(bench), await startBare(bench)];
  const measured = await alternate(session, sides, options.rounds, (side) => measure(side, fileMb));
  return [
    {
      title: `Embedded mode: uploads, ${filesAtOnce} at once of ${fileMb} MB; ${options.rounds} rounds`,
      rows: sides.map((side, i) => toRow(side, measured[i]!, 'MB')),
      aims: compareSpeed({ name: 'embedded / bare', atLeast: 0.7 }, measured[0]!, measured[1]!),
      notes: [],
      errors: sides.flatMap(({ name }, i) =>
        measured[i]!.flatMap(({ errors }) => errors.map((error) => `${name}: ${error}`)),
      ),
      rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
    },
  ];
}

async function startProduct(bench: Workbench): Promise<Candidate> {
  const blobs = join(bench.folder, 'blobs');
  const platform = await openEmbedded(bench, { BLOBS_DIR: blobs });
  const bot = await openBot(platform);
  let made = 0;
  const declareOne = async (size: number) => {
    const { file } = await bot.client.upsertFile({ key: `bench/${++made}.bin`, size });
    return file.uploadUrl;
  };
  return {
    name: 'Parley, embedded',
    url: platform.url,
    layers: { standalone: [platform.pids['standalone']!], postgres: [bench.postgresPid] },
    processes: platform.pids,
    declare: (size) => Promise.all(Array.from({ length: filesAtOnce * filesInRow }, () => declareOne(size))),
    clear: () => rm(join(blobs, bot.id), { recursive: true, force: true }),
  };
}

async function startBare(bench: Workbench): Promise<Candidate> {
  const folder = join(bench.folder, 'bare');
  await mkdir(folder);
  const { pid, url } = await openBare(bench, 'bare-upload', { FOLDER: folder });
  const names = Array.from({ length: filesAtOnce * filesInRow }, (_, i) => `${i}.bin`);
  return {
    name: 'bare Fastify to disk',
    url,
    layers: { bare: [pid] },
    processes: { bare: pid },
    declare: async () => names.map((name) => `${url}/${name}`),
    clear: async () => void (await Promise.all(names.map((name) => rm(join(folder, name), { force: true })))),
  };
}

async function measure(side: Candidate, fileMb: number): Promise<UploadRound> {
  const sizeBytes = fileMb * bytesPerMb;
  const urls = await side.declare(sizeBytes);
  const agent = new Agent({ keepAlive: true });
  const round = await timed(side, async () => {
    const start = performance.now();
    const waiting = urls.values();
    const errors: string[] = [];
    const worker = async () => {
      for (const url of waiting) {
        const status = await put(agent, url, sizeBytes);
        if (status !== 200) errors.push(`upload answered with status ${status}`);
      }
    };
    await Promise.all(Array.from({ length: filesAtOnce }, worker));
    const count = fileMb * urls.length;
    return { count, perSecond: (1000 * count) / (performance.now() - start), errors };
  });
  agent.destroy();
  await side.clear();
  return round;
}

export async function put(agent: Agent, url: string, sizeBytes: number): Promise<number> {
  const upload = request(url, { method: 'PUT', agent, headers: { 'content-length': sizeBytes } });
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  for (let left = sizeBytes; left > 0; left -= piece.length) {
    const isTaken = upload.write(left < piece.length ? piece.subarray(0, left) : piece);
    if (!isTaken) await Promise.race([once(upload, 'drain'), answered]);
  }
  upload.end();
  const [answer] = await answered;
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode!;
}
