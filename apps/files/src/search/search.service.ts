import { Inject, Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { FoundPassages, SearchFiles } from '@parley/contracts/passage-search';
import { type FileScope, fileScopeOf } from '@parley/file-store/file-scope';
import { FoundPassagesRepository, type FoundRow } from '@parley/file-store/found-passages.repository';
import { type Embedder, EmbedderRefused } from '@parley/passages/embedder';
import { highestFusedScore } from '@parley/passages/fusion';
import { queryTerms } from '@parley/passages/lexicon';
import type { PassageHit, PassageIndex } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import { consolidated } from './consolidated';
import { toFoundPassage } from './found-passage';

const defaultLimit = 20;
const defaultContextDepth = 1;
/** The index is asked for as many times the limit, and for more when too few of them may be shown. */
const candidatesPerPassage = 3;
const candidatesGrow = 8;
const mostCandidates = 5_000;

/** Finds passages by meaning and by words. The index only proposes: what is shown is decided by Postgres. */
@Injectable()
export class SearchService {
  constructor(
    private readonly passages: FoundPassagesRepository,
    @Inject(embedder) private readonly model: Embedder,
    @Inject(passageIndex) private readonly index: PassageIndex,
  ) {}

  async search(caller: BotCaller, query: SearchFiles): Promise<FoundPassages> {
    const scope = fileScopeOf(caller);
    const rows = await this.find(scope, query);
    return { passages: query.consolidate ? consolidated(rows, query) : rows.map((row) => toFoundPassage(row, query)) };
  }

  private async find(scope: FileScope, query: SearchFiles): Promise<FoundRow[]> {
    const { limit = defaultLimit, tags, contextDepth = defaultContextDepth, withContext, consolidate } = query;
    const depth = withContext || consolidate ? contextDepth : 0;
    // Nearer passages of files that the caller may not read would hide the others.
    const fileIds = await this.passages.listFewFileIds(scope);
    if (fileIds?.length === 0) return [];
    const vector = await this.embed(query.query);
    const terms = queryTerms(query.query);
    for (let candidates = candidatesPerPassage * limit; ; candidates *= candidatesGrow) {
      const asked = Math.min(candidates, mostCandidates);
      const hits = await this.index.search(scope.botId, { vector, terms, tags, fileIds, limit: asked });
      const found = await this.passages.list(scope, hits.map(inUnits), { tags, depth, limit });
      if (found.length === limit || hits.length < asked || asked === mostCandidates) return found;
    }
  }

  /** Throws InvalidQuery for what the model refuses to read, which it may say; else a 503 that says nothing of our inside. */
  private async embed(text: string): Promise<Float32Array> {
    try {
      const [vector] = await this.model.embed([text]);
      return vector!;
    } catch (error) {
      if (error instanceof EmbedderRefused) {
        throw new ApiError('InvalidQuery', `query cannot be embedded: ${error.message}`, { cause: error });
      }
      throw unavailable('The embedding model does not answer. Try again in a moment.', error);
    }
  }
}

/** Scores from 0 to 1: 1 for what is first by meaning and first by words. */
function inUnits(hit: PassageHit): PassageHit {
  return { ...hit, score: Math.min(1, hit.score / highestFusedScore) };
}
