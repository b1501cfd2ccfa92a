import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { DropFormerModels, DroppedModels, ReindexProgress } from '@parley/contracts/reindex';
import { Database } from '@parley/persistence/database';
import { contextLevels, embeddedTexts, toPoints } from '../store/embedded-texts';
import { IndexModelsRepository, type LackingContent } from '../store/index-models.repository';
import type { NextModelService } from '../store/next-model.service';
import { PassagesRepository } from '../store/passages.repository';
import { nextModel } from '../store/tokens';
import { type Embedder, EmbedderBusy, EmbedderRefused, EmbedderUnavailable } from '@parley/passages/embedder';
import type { PassageIndex } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { embedAcceptable } from './embed-acceptable';

const passagesPerCall = 256;
const passagesAtOnce = 32;
const workMs = 5_000;
/** Timeout for embedding one portion; shorter than the caller's deadline. */
const embedMs = 40_000;
const pauseMs = 5_000;
const botsAtOnce = 100;

/** Model that lacks contents. */
type Target = Pick<NextModelService, 'model' | 'embedder' | 'index'>;

interface Piece {
  content: LackingContent;
  passages: { position: number; text: string }[];
  nextPosition: number | null;
}

/**
 * Re-index: fills the index of the next model while the active one is searched, a bounded portion of work per call.
 * Progress is stored in Postgres: it resumes after a stop, and two concurrent runs only repeat work.
 */
@Injectable()
export class ReindexService implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly models: IndexModelsRepository,
    private readonly passages: PassagesRepository,
    @Inject(embedder) private readonly active: Embedder,
    @Inject(passageIndex) private readonly index: PassageIndex,
    @Inject(nextModel) private readonly next: NextModelService | null,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { next, models } = this;
    const { logger } = this.platform;
    if (!next) return;
    const { lacking } = await models.countContents(next.model);
    if (lacking === 0) return;
    logger.warn(
      { model: next.model, lacking },
      'the next embedding model is not complete: npm run parley -- reindex completes it',
    );
  }

  async advance(): Promise<ReindexProgress> {
    const { next } = this;
    if (!next) {
      const { total } = await this.models.countContents(this.active.model);
      return { total, left: 0, isComplete: false, refused: 0 };
    }
    const done = await this.work(next);
    const { total, lacking } = await this.models.countContents(next.model);
    return { model: next.model, total, left: lacking, isComplete: lacking === 0, ...done };
  }

  async dropFormer({ after = '' }: DropFormerModels): Promise<DroppedModels> {
    const former = await this.models.listFormerModels([this.active.model, ...(this.next ? [this.next.model] : [])]);
    const models = former.map(({ model }) => model);
    if (models.length === 0) return { models };
    if (after === '') await this.models.deleteContentsOfModels(models);
    const deadline = Date.now() + workMs;
    const bots = await this.models.listBotsEverIndexed(after, botsAtOnce);
    for (const botId of bots) {
      for (const { model, dimensions } of former) {
        if (dimensions !== null) await this.index.dropModel(botId, { model, dimensions });
      }
      if (Date.now() > deadline) return { models, after: botId };
    }
    if (bots.length === botsAtOnce) return { models, after: bots.at(-1) };
    await this.models.deleteModels(models);
    return { models };
  }

  /** Resumes at the cursor of the last call. A call that reaches the end resets the cursor. */
  async work(next: Target): Promise<Pick<ReindexProgress, 'refused' | 'problem' | 'pauseMs'>> {
    const deadline = Date.now() + workMs;
    let cursor = await this.models.findCursor(next.model);
    let refused = 0;
    try {
      for (let written = 0; written < passagesPerCall && Date.now() < deadline;) {
        const pieces = await this.read(next, cursor);
        if (pieces.length === 0) {
          cursor = '';
          break;
        }
        refused += await this.write(next, pieces);
        written += pieces.reduce((sum, { passages }) => sum + passages.length, 0);
        const whole = pieces.filter(({ nextPosition }) => nextPosition === null);
        cursor = whole.at(-1)?.content.fileId ?? cursor;
      }
    } catch (error) {
      const problem = problemOf(error);
      this.platform.logger.warn({ model: next.model, err: error }, 're-index paused');
      return { refused, problem, pauseMs: error instanceof EmbedderBusy ? error.retryAfterMs : pauseMs };
    } finally {
      await this.models.saveCursor(next.model, cursor);
    }
    return { refused };
  }

  private async read(next: Target, cursor: string): Promise<Piece[]> {
    const pieces: Piece[] = [];
    let room = passagesAtOnce;
    for (const content of await this.models.listLacking(next.model, cursor, passagesAtOnce)) {
      const piece = await this.readPiece(content, room);
      pieces.push(piece);
      room -= piece.passages.length;
      if (room <= 0) break;
    }
    return pieces;
  }

  /** Texts of the content as they are embedded, at most `room` of them. */
  async readPiece(content: LackingContent, room: number): Promise<Piece> {
    const { start, indexing } = content;
    const levels = contextLevels(indexing);
    const first = Math.max(0, start - levels);
    // One row more than needed, to know whether the content continues.
    const stored = await this.passages.listFromPosition(content, first, start - first + room + levels + 1);
    const own = stored.filter(({ position }) => position >= start).slice(0, room);
    const [before, after] = [stored.slice(0, start - first), stored.slice(start - first + own.length)];
    const texts = embeddedTexts(own, before, after, indexing);
    return {
      content,
      passages: own.map(({ position }, i) => ({ position, text: texts[i]! })),
      nextPosition: after.length > 0 ? start + own.length : null,
    };
  }

  private async write(next: Target, pieces: Piece[]): Promise<number> {
    const texts = pieces.flatMap(({ passages }) => passages.map(({ text }) => text));
    const vectors = texts.length > 0 ? await this.embed(next.embedder, texts) : [];
    if (texts.length > 0) await this.register(next.embedder);
    let [start, refused] = [0, 0];
    for (const piece of pieces) {
      const own = vectors.slice(start, (start += piece.passages.length));
      const missing = own.filter((vector) => !vector).length;
      refused += missing;
      await this.writePiece(next, piece, own);
      if (missing > 0) this.warnOfRefused(next, piece, missing);
    }
    return refused;
  }

  /**
   * Row lock: while it is held, no cleanup can mistake these points for those of an old version. Content that is gone
   * gets no points.
   */
  private async writePiece(
    next: Target,
    { content, passages, nextPosition }: Piece,
    vectors: (Float32Array | undefined)[],
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const tags = await this.models.lockActiveVersion(tx, content);
      if (!tags) return;
      const embedded = passages.flatMap((passage, i) => (vectors[i] ? [{ ...passage, vector: vectors[i] }] : []));
      const points = await toPoints(content, tags, embedded);
      await next.index.write(content.botId, points, tx);
      await this.models.saveNextPosition(tx, content, next.model, nextPosition);
    });
  }

  private async embed(model: Embedder, texts: string[]): Promise<(Float32Array | undefined)[]> {
    const timeout = AbortSignal.timeout(embedMs);
    try {
      return await embedAcceptable(model, texts, timeout);
    } catch (error) {
      if (!timeout.aborted) throw error;
      throw new EmbedderUnavailable(`The embedding model took more than ${embedMs / 1000} s.`, { cause: error });
    }
  }

  private async register({ model, dimensions }: Embedder): Promise<void> {
    if (await this.models.registerModel({ model, dimensions })) return;
    throw new EmbedderUnavailable(
      `The embedding model "${model}" returned vectors of ${dimensions} dimensions, but earlier vectors of this model have another number of dimensions. Configure the earlier model again, or migrate to a model with another name.`,
    );
  }

  private warnOfRefused(next: Target, { content: { botId, fileId } }: Piece, passages: number): void {
    this.platform.logger.warn(
      { botId, fileId, passages, model: next.model },
      'the embedding model rejects passages, searches will not find them',
    );
  }
}

/** Problem to report to the operator. Rethrows errors that a pause cannot resolve. */
function problemOf(error: unknown): string {
  const isExpected =
    [EmbedderBusy, EmbedderRefused, EmbedderUnavailable].some((type) => error instanceof type) ||
    error instanceof ApiError;
  if (!isExpected) throw error;
  return (error as Error).message;
}
