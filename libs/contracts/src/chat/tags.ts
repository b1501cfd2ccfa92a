import { IsString } from 'class-validator';
import { bot } from '../access';
import { ListOf, Nested } from '../fields';
import { operation } from '../operation';
import { PageMeta, PageQuery } from '../paging';
import { PathParam, QueryChoice } from '../query-fields';

export const taggedTypes = ['conversation', 'user', 'message'] as const;
export type TaggedType = (typeof taggedTypes)[number];

export class ListTagValues extends PageQuery {
  /**
   * Name of the tag. The bot names a tag of an integration as `alias:tag`; an integration names its own without a
   * prefix.
   */
  @PathParam() key!: string;

  @QueryChoice(taggedTypes, { required: true }) type!: TaggedType;
}

export class TagValue {
  @IsString() value!: string;
}

export class TagValues {
  @ListOf(TagValue) tags!: TagValue[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const tags = {
  listValues: operation({
    subject: 'chat.tags.listValues',
    route: 'GET /v1/chat/tags/{key}/values',
    summary: 'Lists the distinct values of a tag, in ascending order.',
    access: bot.readAlsoByIntegration,
    input: ListTagValues,
    output: TagValues,
  }),
};
