import { IsString } from 'class-validator';
import { Optional } from './fields';
import { QueryInteger, QueryString } from './query-fields';

/** Query of every list. `limit` and `pageSize` mean the same; `limit` wins. */
export class PageQuery {
  /** `meta.nextToken` of the page before, with the same other parameters. */
  @QueryString({ maxLength: 8000 })
  nextToken?: string;

  @QueryInteger({ min: 1, max: 200 })
  limit?: number;

  @QueryInteger({ min: 1, max: 200 })
  pageSize?: number;
}

/** Entries of a page when the caller does not say. */
export const defaultPageSize = 20;

export class PageMeta {
  /** Absent on the last page. */
  @Optional()
  @IsString()
  nextToken?: string;
}

/** Answer of an operation that has nothing to say. */
export class Empty {}

/** Answer of an operation with a `contentType`: its body is this text and nothing else. */
export class Text {
  @IsString()
  text!: string;
}
