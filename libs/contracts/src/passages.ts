import { IsBoolean, IsIn, IsInt, IsString, Length, Max, Min } from 'class-validator';
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

/** Largest body: 5,000 passages of 3 kB (indexing creates passages of 1 kB), or 1,600 of maximum length. */
export const maxPassagesBytes = 16_000_000;

export class PassageMeta {
  @IsIn(passageTypes) type!: PassageType;
  @IsIn(passageSubtypes) subtype!: PassageSubtype;

  /** Starts at 1; absent for formats without pages. */
  @Optional() @IsInt() pageNumber?: number;

  /** True if text of the passage was read from a picture by text recognition (OCR). */
  @Optional() @IsBoolean() ocr?: boolean;

  /** Index within the document, starting at 0. */
  @IsInt() position!: number;
}

export class Passage {
  @IsString() id!: string;
  @IsString() content!: string;
  @Nested(PassageMeta) meta!: PassageMeta;
}

export class ListFilePassages extends PageQuery {
  /** Id or key of the file. */
  @PathParam({ maxLength: 2_000 }) id!: string;
}

export class Passages {
  @ListOf(Passage) passages!: Passage[];
  @Nested(PageMeta) meta!: PageMeta;
}

/** Callers give the page of a passage by `pageNumber`. */
const settableSubtypes = passageSubtypes.filter((subtype) => subtype !== 'page');

export class NewPassage {
  @IsString() @Length(1, 10_000) content!: string;

  /** Default: `paragraph`. */
  @Optional() @IsIn(settableSubtypes) type?: PassageSubtype;

  /** Starts at 1. */
  @Optional() @IsInt() @Min(1) @Max(1_000_000) pageNumber?: number;
}

/**
 * Replaces all passages of a file. They are embedded in the background: until then the file is `indexing_pending`, and
 * its previous passages stay searchable.
 */
export class SetFilePassages {
  /** Id or key of the file. */
  @PathParam({ maxLength: 2_000 }) id!: string;

  /** In document order. */
  @ListOf(NewPassage, { maxItems: 5_000 }) passages!: NewPassage[];
}
