import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type {
  ListOlderFiles,
  OlderFiles,
  OlderFilesList,
  OlderFilesProgress,
  ReadOlderFiles,
} from '@parley/contracts/reindex';
import { type Outcome, queue, type Work } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { IndexingWorkService } from '../indexing-work/indexing-work.service';
import type { FilePosition } from '../store/index-models.repository';
import { JobsRepository } from '../store/jobs.repository';
import { isReadByOlder, OlderReadersRepository, type OlderFile, type OlderFileGroup } from './older-readers.repository';

/** Key: format and bot. Payload: a format and a bot; all when absent. */
const readOlder = queue<ReadOlderFiles>('files.readOlder');
const platformTenant = 'platform';
/** Files of a bot that are looked at in its turn, and those that are added to the indexing queue. */
const filesPerTurn = 100;
const addedPerTurn = 2;
/** Jobs in the indexing queue up to which files are added: new uploads wait for few that are read anew. */
const longestQueue = 8;
const lookMs = 250;
/** Time after which one file is added to a queue that stays long. */
const patienceMs = 5_000;
/** Time after which other work has its turn. */
const workMs = 10_000;
const mostReasons = 1_000;

/** Bot, and the file after which its next turn begins. */
interface Turn {
  botId: string;
  after: FilePosition;
}

const first: FilePosition = { createdAt: '-infinity', fileId: '' };

/**
 * Reads files anew that an older reader has read or refused, in the background. Each becomes an indexing job: its former
 * passages are searchable until the new ones are. Postgres knows which files are left.
 */
@Injectable()
export class OlderReadersService {
  /** Bots in turn, by key. Lost with the process; the next one looks at the files of all bots from the first one on. */
  private readonly turns = new Map<string, Turn[]>();

  constructor(
    private readonly older: OlderReadersRepository,
    private readonly jobs: JobsRepository,
    private readonly indexing: IndexingWorkService,
    private readonly queue: WorkQueue,
  ) {}

  async list({ format, botId }: ListOlderFiles): Promise<OlderFilesList> {
    const groups = (await this.groups({ format: await formatNamed(format), botId })).filter(isLeft);
    const counts = new Map<string, OlderFiles>();
    for (const { format: name, reason, files } of groups) {
      const key = JSON.stringify([name, reason]);
      const before = counts.get(key)?.files ?? 0;
      counts.set(key, { format: name, reason: reason ?? undefined, files: before + files });
    }
    const sorted = [...counts.values()].toSorted((a, b) => b.files - a.files || (a.format < b.format ? -1 : 1));
    const refused = sorted.filter(({ reason }) => reason !== undefined);
    return { groups: [...sorted.filter(({ reason }) => reason === undefined), ...refused.slice(0, mostReasons)] };
  }

  /** Idempotent. */
  async readAnew(input: ReadOlderFiles): Promise<OlderFilesProgress> {
    const format = await formatNamed(input.format);
    const groups = await this.groups({ format, botId: input.botId });
    const count = (kind: (group: OlderFileGroup) => boolean) =>
      groups.filter(kind).reduce((sum, { files }) => sum + files, 0);
    const progress = {
      left: count((group) => isLeft(group) && group.reason === null),
      refused: count((group) => isLeft(group) && group.reason !== null),
      reading: count((group) => !isLeft(group)),
    };
    if (progress.left + progress.refused === 0) return progress;
    const payload = { format, botId: input.botId };
    const work = { key: `${format ?? 'all'} ${input.botId ?? 'all'}`, tenant: input.botId ?? platformTenant, payload };
    await this.queue.addNow(readOlder, [work]);
    return progress;
  }

  /** Bots take turns, in each of which a few of their files are added to the indexing queue. */
  @Worker(readOlder, { concurrency: 1, attempts: Infinity })
  async addFiles({ key, payload, signal }: Work<ReadOlderFiles>): Promise<Outcome> {
    const deadline = performance.now() + workMs;
    const turns = this.turns.get(key) ?? (await this.firstTurns(payload));
    this.turns.delete(key);
    while (!signal.aborted && performance.now() < deadline) {
      const turn = turns.shift();
      if (!turn) return;
      const after = await this.addSome(turn, payload.format, signal);
      if (after) turns.push({ ...turn, after });
    }
    this.turns.set(key, turns);
    return 'more';
  }

  private async firstTurns({ botId }: ReadOlderFiles): Promise<Turn[]> {
    const bots = botId ? [botId] : await this.older.listBots();
    return bots.map((each) => ({ botId: each, after: first }));
  }

  /** Position after the files that were looked at; undefined without any. */
  private async addSome(
    { botId, after }: Turn,
    format: string | undefined,
    signal: AbortSignal,
  ): Promise<FilePosition | undefined> {
    const most = Math.min(addedPerTurn, await this.waitForRoom(signal));
    const files = await this.older.listOlder(botId, after, format ? filesPerTurn : most);
    let last: FilePosition | undefined;
    let added = 0;
    for (const file of files) {
      if (added === most) break;
      last = { createdAt: file.createdAt, fileId: file.fileId };
      if (format && (await formatOf(file)) !== format) continue;
      await this.indexing.readAnew(file.fileId, isReadByOlder);
      added++;
    }
    return last;
  }

  private async groups({ format, botId }: ReadOlderFiles): Promise<(OlderFileGroup & { format: string })[]> {
    const groups = await this.older.listGroups(botId);
    const named = await Promise.all(groups.map(async (group) => ({ ...group, format: await formatOf(group) })));
    return format ? named.filter((group) => group.format === format) : named;
  }

  /** Number of files that may be added to the indexing queue. */
  private async waitForRoom(signal: AbortSignal): Promise<number> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const room = longestQueue - (await this.jobs.countWaiting(longestQueue));
      if (room > 0) return room;
      if (performance.now() > deadline) return 1;
      await sleep(lookMs, undefined, { signal });
    }
  }
}

/** Whether the file waits to be read anew; otherwise it is being read. */
function isLeft({ status }: OlderFileGroup): boolean {
  return status !== 'indexing_pending';
}

/** Imported on demand, since it loads parsers. */
const formatChoice = () => import('@parley/documents/choose-format');

async function formatOf({ reader_format: format, content_type: type, extension }: OlderFile | OlderFileGroup) {
  return format ?? (await formatChoice()).statedFormat(type, extension);
}

async function formatNamed(text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined;
  const { formatByName, formatNames } = await formatChoice();
  const name = formatByName(text);
  if (name !== undefined) return name;
  throw new ApiError(
    'InvalidPayload',
    `format: ${JSON.stringify(text)} is no format. Give one of ${formatNames().join(', ')}, or an extension.`,
  );
}
