import { IsBoolean, IsIn, IsInt, IsNumber, IsString } from 'class-validator';
import { JsonObject, ListOf, MapOf, Nested, Optional } from './fields';
import { PassageMeta } from './passages';
import { QueryBoolean, QueryInteger, QueryShare, QueryString, QueryTags, type TagQuery } from './query-fields';

export const maxFoundPassages = 50;
/** Most context passages on each side. */
export const maxContextDepth = 10;

export class SearchFiles {
  @QueryString({ maxLength: 8000, required: true }) query!: string;
  @QueryTags() tags?: TagQuery;

  /** Default: 20. */
  @QueryInteger({ min: 1, max: maxFoundPassages }) limit?: number;

  /**
   * Least `score` of a passage. With a model whose scores are not calibrated, the least share of the query's words that
   * the passage must have, weighted by their rarity.
   */
  @QueryShare() minScore?: number;

  /** Neighbouring passages on each side, for `withContext` and `consolidate`. Default: 1. */
  @QueryInteger({ min: 0, max: maxContextDepth }) contextDepth?: number;

  /** Merges the passages of each file and their neighbours into one, in document order. */
  @QueryBoolean() consolidate?: boolean;

  /** Adds the headings above a passage to its context, or with `consolidate` to its text. */
  @QueryBoolean() includeBreadcrumb?: boolean;

  /** Adds the neighbours of each passage as `context`. Ignored with `consolidate`, whose text contains them. */
  @QueryBoolean() withContext?: boolean;
}

const contextTypes = ['preceding', 'subsequent', 'current', 'breadcrumb'] as const;

export class PassageContext {
  /** Passage id; absent for a breadcrumb. */
  @Optional() @IsString() id?: string;

  @IsString() text!: string;

  /** Position relative to the match: negative before it, positive after it. */
  @Optional() @IsInt() offset?: number;

  @IsIn(contextTypes) type!: (typeof contextTypes)[number];
}

export class PassageFile {
  @IsString() id!: string;
  @IsString() key!: string;
  @IsString() contentType!: string;
  @JsonObject() metadata!: Record<string, unknown>;
  @MapOf(String) tags!: Record<string, string>;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
}

export class FoundPassage {
  @IsString() content!: string;

  /** Relevance from 0 to 1, which is the passage itself. Does not depend on the other passages. */
  @IsNumber() score!: number;

  @Nested(PassageMeta) meta!: PassageMeta;
  @Nested(PassageFile) file!: PassageFile;
  @Optional() @ListOf(PassageContext) context?: PassageContext[];
}

export class FoundPassages {
  @ListOf(FoundPassage) passages!: FoundPassage[];

  /** Whether `score` was calibrated for the embedding model. Otherwise `minScore` counts words only. */
  @IsBoolean() isCalibrated!: boolean;

  /** Score below which a passage hardly answers the query. Absent when the scores are not calibrated. */
  @Optional() @IsNumber() leastScore?: number;
}
