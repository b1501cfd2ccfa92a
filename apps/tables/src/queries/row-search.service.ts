import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { TablesConfig } from '../config';
import { type RowHit, RowPointsService, type SearchedText } from '../search/row-points.service';
import type { PageQuery, PageRow } from './page-sql';
import { QueriesRepository } from './queries.repository';

/**
 * Candidates requested from the index: the minimum without a filter, the maximum with a filter or when too few rows
 * match.
 */
const fewestCandidates = 200;
const mostCandidates = 10_000;

export interface FoundRow extends PageRow {
  /** Absent for a row without a point. */
  similarity?: number;
}

@Injectable()
export class RowSearchService {
  constructor(
    private readonly points: RowPointsService,
    private readonly rows: QueriesRepository,
    private readonly config: TablesConfig,
  ) {}

  /**
   * A page of the matching rows: those with a point by similarity, then the others by id. Beyond `mostCandidates`, rows
   * with a point are not ordered by similarity either. Throws OperationTimeout.
   */
  async page(query: PageQuery, text: string): Promise<FoundRow[]> {
    const { offset, limit } = query;
    const { known, matching } = await this.candidates(query, await this.points.read(text));

    const page = matching.slice(offset, offset + limit);
    const similarities = new Map(page.map(({ id, similarity }) => [id, similarity]));
    const rows = new Map((await this.rows.listByIds(query, [...similarities.keys()])).map((row) => [row.id, row]));
    const near = page.flatMap(({ id, similarity }) => {
      const row = rows.get(id);
      return row ? [{ ...row, similarity }] : [];
    });
    if (page.length === limit) return near;
    const others = { ...query, offset: Math.max(0, offset - matching.length), limit: limit - page.length };
    return [...near, ...(await this.rows.listPageWithout(others, known))];
  }

  /** Nearest rows of the index (`known`), and the matching rows among them: enough for the page if possible. */
  private async candidates(query: PageQuery, text: SearchedText) {
    const end = query.offset + query.limit;
    const isFiltered = query.filter.kind !== 'all' || query.filter.of.length > 0;
    let limit = isFiltered ? mostCandidates : Math.min(Math.max(fewestCandidates, 2 * end), mostCandidates);
    for (;;) {
      const nearest = await this.nearest(query.table.number, text, limit);
      const known = nearest.map(({ id }) => id);
      const matchingIds = new Set(await this.rows.listMatchingAmong(query, known));
      const matching: RowHit[] = nearest.filter(({ id }) => matchingIds.has(id));
      if (matching.length >= end || nearest.length < limit || limit === mostCandidates) return { known, matching };
      limit = mostCandidates;
    }
  }

  private async nearest(tableNumber: string, text: SearchedText, limit: number): Promise<RowHit[]> {
    const { findTimeoutMs } = this.config;
    const deadline = AbortSignal.timeout(findTimeoutMs);
    try {
      return await this.points.nearest(tableNumber, text, limit, deadline);
    } catch (error) {
      if (!deadline.aborted) throw error;
      throw new ApiError(
        'OperationTimeout',
        `Searching these rows took more than ${findTimeoutMs / 1000} s. Try again in a moment; for very many rows, configure a larger vector cache or Qdrant.`,
        { cause: error },
      );
    }
  }
}
