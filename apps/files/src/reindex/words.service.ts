import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { eventLoopPauses } from '@parley/background/yield-to-event-loop';
import type { WordsProgress } from '@parley/contracts/reindex';
import { Database } from '@parley/persistence/database';
import { type ContentWithOldWords, IndexModelsRepository } from '../store/index-models.repository';
import type { NextModelService } from '../store/next-model.service';
import { passageId } from '../store/passages.repository';
import { nextModel } from '../store/tokens';
import type { Embedder } from '@parley/passages/embedder';
import { documentTerms } from '@parley/passages/lexicon';
import type { PassageIndex, PassageTerms } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Outcome, queue, type Work } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { ReindexService } from './reindex.service';

/** One key. */
const findOldWords = queue('files.findOldWords');
/** Key and tenant: a bot. */
const rebuildWords = queue('files.rebuildWords');
const platformTenant = 'platform';
const passagesAtOnce = 64;
const passagesPerTurn = 256;
const contentsPerTurn = 64;
const botsAtOnce = 500;

/** Content and passage at which the next turn of a bot begins. */
type Cursor = Pick<ContentWithOldWords, 'createdAt' | 'fileId' | 'contentVersion' | 'model' | 'start'>;

const first: Cursor = { createdAt: '-infinity', fileId: '', contentVersion: '', model: '', start: 0 };

/**
 * Rebuilds the words of passages that an older lexicon indexed, in the background, while search finds them as before.
 * Vectors stay, so no model is asked. Postgres knows which contents are left.
 */
@Injectable()
export class WordsService implements OnApplicationBootstrap {
  /** By bot. Lost with the process; the next one looks at the files of the bot from the first one on. */
  private readonly cursors = new Map<string, Cursor>();

  constructor(
    private readonly database: Database,
    private readonly models: IndexModelsRepository,
    private readonly reindex: ReindexService,
    private readonly queue: WorkQueue,
    @Inject(embedder) private readonly active: Embedder,
    @Inject(passageIndex) private readonly index: PassageIndex,
    @Inject(nextModel) private readonly next: NextModelService | null,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { left } = await this.rebuild();
    if (left === 0) return;
    this.platform.logger.info(
      { files: left },
      'rebuilding the words of files that an older version indexed: npm run parley -- reindex --words shows the progress',
    );
  }

  /** Idempotent. */
  async rebuild(): Promise<WordsProgress> {
    const left = await this.models.countOldWords([...this.indexes.keys()]);
    if (left > 0) await this.queue.addNow(findOldWords, [{ key: 'all', tenant: platformTenant, payload: null }]);
    return { left };
  }

  @Worker(findOldWords, { concurrency: 1, attempts: Infinity })
  async find(): Promise<void> {
    const bots = await this.models.listBotsWithOldWords([...this.indexes.keys()]);
    for (let start = 0; start < bots.length; start += botsAtOnce) {
      const works = bots.slice(start, start + botsAtOnce).map((key) => ({ key, tenant: key, payload: null }));
      await this.queue.addNow(rebuildWords, works);
    }
  }

  @Worker(rebuildWords, { concurrency: 1, attempts: Infinity })
  async rebuildOfBot({ key: botId, signal }: Work): Promise<Outcome> {
    const cursor = this.cursors.get(botId) ?? first;
    this.cursors.delete(botId);
    const contents = await this.models.listOldWords(botId, [...this.indexes.keys()], cursor, contentsPerTurn);
    let written = 0;
    for (const content of contents) {
      for (let start: number | null = startOf(content, cursor); start !== null;) {
        if (written >= passagesPerTurn || signal.aborted) {
          this.cursors.set(botId, { ...content, start });
          return 'more';
        }
        const piece = await this.reindex.readPiece({ ...content, start }, passagesAtOnce);
        await this.write(content, piece);
        written += piece.passages.length;
        start = piece.nextPosition;
      }
      this.cursors.set(botId, { ...content, start: 0 });
    }
    if (contents.length > 0) return 'more';
  }

  private get indexes(): Map<string, PassageIndex> {
    const indexes = new Map([[this.active.model, this.index]]);
    if (this.next) indexes.set(this.next.model, this.next.index);
    return indexes;
  }

  /** Row lock: the content stays the active one, and is not removed meanwhile. */
  private async write(
    content: ContentWithOldWords,
    { passages, nextPosition }: Awaited<ReturnType<ReindexService['readPiece']>>,
  ): Promise<void> {
    const { botId, fileId, contentVersion, model } = content;
    const pause = eventLoopPauses();
    const points: PassageTerms[] = [];
    for (const { position, text } of passages) {
      points.push({ id: passageId(fileId, contentVersion, position), contentVersion, terms: documentTerms(text) });
      await pause();
    }
    await this.database.transaction(async (tx) => {
      if (!(await this.models.lockActiveVersion(tx, content))) return;
      await this.indexes.get(model)!.replaceTerms(botId, points, tx);
      if (nextPosition === null) await this.models.saveLexicon(tx, content, model);
    });
  }
}

function startOf(content: ContentWithOldWords, cursor: Cursor): number {
  const isSame =
    content.fileId === cursor.fileId &&
    content.contentVersion === cursor.contentVersion &&
    content.model === cursor.model;
  return isSame ? cursor.start : 0;
}
