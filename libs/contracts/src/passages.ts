import { IsIn, IsInt, IsString } from 'class-validator';
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

export class PassageMeta {
  @IsIn(['chunk', 'summary', 'consolidated', 'image'])
  type!: 'chunk' | 'summary' | 'consolidated' | 'image';

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
  @PathParam()
  id!: string;
}

export class Passages {
  @ListOf(Passage)
  passages!: Passage[];

  @Nested(PageMeta)
  meta!: PageMeta;
}
