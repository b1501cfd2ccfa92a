import { Inject, Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { FoundPassages, SearchFiles } from '@parley/contracts/passage-search';
import { type FileScope, fileScopeOf } from '../store/file-scope';
import { FoundPassagesRepository, type FoundRow } from '../store/found-passages.repository';
import { type Embedder, EmbedderRefused } from '@parley/passages/embedder';
import { IndexHealth } from '@parley/passages/index-health';
import { queryTerms } from '@parley/passages/lexicon';
import type { PassageHit, PassageIndex, PassageQuery } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import { ModelCompletionService } from '../reindex/model-completion.service';
import { consolidated } from './consolidated';
import { toFoundPassage } from './found-passage';

const defaultLimit = 20;
const defaultContextDepth = 1;
/** Overfetch: the index is asked for this many times the limit, and for more when Postgres filters out too many. */
const candidatesPerPassage = 3;
const candidatesGrow = 8;
const mostCandidates = 5_000;

/** Shorter than the deadline of the operation, so that the caller receives a 503 in time. */
const timeoutMs = 8_000;

/** Hybrid search by meaning and by words. The index only proposes; Postgres decides which passages are visible. */
@Injectable()
export class SearchService {
  constructor(
    private readonly passages: FoundPassagesRepository,
    @Inject(embedder) private readonly model: Embedder,
    @Inject(passageIndex) private readonly index: PassageIndex,
    private readonly models: ModelCompletionService,
    private readonly health: IndexHealth,
  ) {}

  async search(caller: BotCaller, query: SearchFiles): Promise<FoundPassages> {
    const scope = fileScopeOf(caller);
    const signal = AbortSignal.timeout(timeoutMs);
    const rows = await this.find(scope, query, signal).catch((error: unknown) => {
      throw signal.aborted ? unavailable('The search took too long. Try again in a moment.', error) : error;
    });
    const passages = query.consolidate ? consolidated(rows, query) : rows.map((row) => toFoundPassage(row, query));
    const { leastScore } = this.model;
    return { passages, isCalibrated: leastScore !== undefined, ...(leastScore !== undefined && { leastScore }) };
  }

  private async find(scope: FileScope, query: SearchFiles, signal: AbortSignal): Promise<FoundRow[]> {
    const {
      limit = defaultLimit,
      minScore,
      tags,
      contextDepth = defaultContextDepth,
      withContext,
      consolidate,
    } = query;
    const depth = withContext || consolidate ? contextDepth : 0;
    // Prefilter: otherwise nearer passages of unreadable files would crowd out the readable ones.
    const fileIds = await this.passages.listFewFileIds(scope);
    if (fileIds?.length === 0) return [];
    const vector = await this.embed(query.query, signal);
    const terms = queryTerms(query.query);
    for (let candidates = candidatesPerPassage * limit; ; candidates *= candidatesGrow) {
      const asked = Math.min(candidates, mostCandidates);
      const hits = await this.hits(scope.botId, { vector, terms, tags, fileIds, limit: asked, signal });
      if (hits.length === 0) await this.checkEmpty(scope, query);
      const good = hits.filter((hit) => this.isGood(hit, minScore));
      const found = await this.passages.listVisibleHits(scope, good.map(inUnits), { tags, depth, limit });
      const isExhausted = hits.length < asked || asked === mostCandidates || good.length < hits.length;
      if (found.length === limit || isExhausted) return found;
    }
  }

  /** The cosines of a model that is not calibrated say too little: only words count. */
  private isGood({ score, words }: PassageHit, minScore = -Infinity): boolean {
    return (this.model.leastScore === undefined ? words : score) >= minScore;
  }

  /** With those that only a former model has, found by words. */
  private async hits(botId: string, { vector, ...query }: PassageQuery): Promise<PassageHit[]> {
    const former = await this.models.listFormer();
    const [hits, ...worded] = await Promise.all([
      this.index.search(botId, { vector, ...query }),
      ...former.map((model) => this.index.searchWords(botId, model, query)),
    ]);
    if (former.length === 0) return hits;
    const known = new Map([...worded.flat(), ...hits].map((hit) => [hit.id, hit]));
    return [...known.values()].sort((a, b) => b.score - a.score).slice(0, query.limit);
  }

  /**
   * Health check: a search without tags finds some point of every bot that has passages, unless the index has lost
   * them.
   */
  private async checkEmpty(scope: FileScope, { tags }: SearchFiles): Promise<void> {
    if (Object.keys(tags ?? {}).length > 0 || !(await this.passages.areAnyActive(scope))) return;
    this.health.degraded('index empty', { bot: scope.botId });
  }

  /**
   * Throws InvalidQuery, with the model's message, for text that the model rejects; otherwise a 503 that exposes no
   * internals.
   */
  private async embed(text: string, signal: AbortSignal): Promise<Float32Array> {
    try {
      return await this.model.embedQuery(text, signal);
    } catch (error) {
      if (error instanceof EmbedderRefused) {
        throw new ApiError('InvalidQuery', `query cannot be embedded: ${error.message}`, { cause: error });
      }
      throw unavailable('The embedding model does not answer. Try again in a moment.', error);
    }
  }
}

/** The opposite meaning is as irrelevant as another one, and a rounding error above 1 is 1. */
function inUnits(hit: PassageHit): PassageHit {
  return { ...hit, score: Math.min(1, Math.max(0, hit.score)) };
}
