import { IsIn, IsInt, IsNumber, IsString } from 'class-validator';
import { JsonObject, ListOf, MapOf, Nested, Optional } from './fields';
import { PassageMeta } from './passages';
import { QueryBoolean, QueryInteger, QueryString, QueryTags, type TagQuery } from './query-fields';

/** Most passages that one search gives. */
export const maxFoundPassages = 50;
/** How many neighbours on each side a passage may be given with. */
export const maxContextDepth = 10;

export class SearchFiles {
  @QueryString({ maxLength: 8000, required: true })
  query!: string;

  @QueryTags()
  tags?: TagQuery;

  /** 20 when absent. */
  @QueryInteger({ min: 1, max: maxFoundPassages })
  limit?: number;

  /** Neighbours on each side, for `withContext` and `consolidate`; 1 when absent. */
  @QueryInteger({ min: 0, max: maxContextDepth })
  contextDepth?: number;

  /** Joins the passages of a file into one, each with its neighbours, in the order of the document. */
  @QueryBoolean()
  consolidate?: boolean;

  /** Adds the headings above a passage: to its context, or to its text when `consolidate` is set. */
  @QueryBoolean()
  includeBreadcrumb?: boolean;

  /** Adds the neighbours of each passage; not with `consolidate`, where they are part of the text. */
  @QueryBoolean()
  withContext?: boolean;
}

const contextTypes = ['preceding', 'subsequent', 'current', 'breadcrumb'] as const;

export class PassageContext {
  /** Of the passage that it is; absent for a breadcrumb. */
  @Optional()
  @IsString()
  id?: string;

  @IsString()
  text!: string;

  /** Places from the passage that was found: negative before it, positive after it. */
  @Optional()
  @IsInt()
  offset?: number;

  @IsIn(contextTypes)
  type!: (typeof contextTypes)[number];
}

/** The file that a passage is of. */
export class PassageFile {
  @IsString()
  id!: string;

  @IsString()
  key!: string;

  @IsString()
  contentType!: string;

  @JsonObject()
  metadata!: Record<string, unknown>;

  @MapOf(String)
  tags!: Record<string, string>;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;
}

export class FoundPassage {
  @IsString()
  content!: string;

  /** From 0 to 1: 1 for what is first by meaning and first by words. */
  @IsNumber()
  score!: number;

  @Nested(PassageMeta)
  meta!: PassageMeta;

  @Nested(PassageFile)
  file!: PassageFile;

  @Optional()
  @ListOf(PassageContext)
  context?: PassageContext[];
}

export class FoundPassages {
  @ListOf(FoundPassage)
  passages!: FoundPassage[];
}
