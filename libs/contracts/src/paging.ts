import { IsString } from 'class-validator';
import { Optional } from './fields';
import { QueryInteger, QueryString } from './query-fields';

/** Pagination query. `pageSize` is an alias of `limit`, which takes precedence. */
export class PageQuery {
  /** Cursor: `meta.nextToken` of the previous page. All other parameters must be the same. */
  @QueryString({ maxLength: 8000 }) nextToken?: string;

  @QueryInteger({ min: 1, max: 200 }) limit?: number;
  @QueryInteger({ min: 1, max: 200 }) pageSize?: number;
}

export const defaultPageSize = 20;

export class PageMeta {
  /** Cursor of the next page; absent on the last page. */
  @Optional() @IsString() nextToken?: string;
}

export class Empty {}

/** Answer of an operation with a `contentType`: the text is the whole body. */
export class Text {
  @IsString() text!: string;
}
