import { IsIn, IsInt, IsString, Length, Max, Min } from 'class-validator';
import { ListOf, Nested, Optional } from './fields';
import { PageMeta, PageQuery } from './paging';
import { PathParam } from './query-fields';

export const passageSubtypes = [
  'image',
  'title',
  'subtitle',
  'paragraph',
  'blockquote',
  'list',
  'table',
  'code',
  'page',
] as const;
export type PassageSubtype = (typeof passageSubtypes)[number];

export const passageTypes = ['chunk', 'summary', 'consolidated', 'image'] as const;
export type PassageType = (typeof passageTypes)[number];

/** Largest body of a request that sets passages: 5,000 of 3 kB, where indexing makes some of 1 kB, or 1,600 of the longest. */
export const maxPassagesBytes = 16_000_000;

export class PassageMeta {
  @IsIn(passageTypes)
  type!: PassageType;

  @IsIn(passageSubtypes)
  subtype!: PassageSubtype;

  /** The first page is 1; only for formats that have pages. */
  @Optional()
  @IsInt()
  pageNumber?: number;

  /** Place in the document; the first is 0. */
  @IsInt()
  position!: number;
}

export class Passage {
  @IsString()
  id!: string;

  @IsString()
  content!: string;

  @Nested(PassageMeta)
  meta!: PassageMeta;
}

export class ListFilePassages extends PageQuery {
  /** Id or key of the file. */
  @PathParam({ maxLength: 2_000 })
  id!: string;
}

export class Passages {
  @ListOf(Passage)
  passages!: Passage[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

/** What a caller may give a passage: what is on a whole page is told by `pageNumber`. */
const settableSubtypes = passageSubtypes.filter((subtype) => subtype !== 'page');

export class NewPassage {
  @IsString()
  @Length(1, 10_000)
  content!: string;

  /** `paragraph` when absent. */
  @Optional()
  @IsIn(settableSubtypes)
  type?: PassageSubtype;

  /** The first page is 1. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(1_000_000)
  pageNumber?: number;
}

/** They are embedded in the background: the file is `indexing_pending` until that is done, and keeps what it had. */
export class SetFilePassages {
  /** Id or key of the file. */
  @PathParam({ maxLength: 2_000 })
  id!: string;

  /** In the order of the document. */
  @ListOf(NewPassage, { maxItems: 5_000 })
  passages!: NewPassage[];
}
