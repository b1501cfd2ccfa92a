import { IsString, Length } from 'class-validator';
import { bot } from './access';
import { ListOf, MapOf, Nested, Optional } from './fields';
import { operation } from './operation';
import { Empty, PageMeta, PageQuery } from './paging';
import { PathParam, QueryTags, type TagQuery } from './query-fields';

/** Most tags of a knowledge base. */
export const maxKnowledgeBaseTags = 100;

export class CreateKnowledgeBase {
  @IsString()
  @Length(1, 200)
  name!: string;

  @Optional()
  @MapOf(String, { maxLength: 1000, maxEntries: maxKnowledgeBaseTags })
  tags?: Record<string, string>;
}

/** A name for files that belong together: they name it by a tag of theirs. */
export class KnowledgeBase {
  @IsString()
  id!: string;

  @IsString()
  name!: string;

  @MapOf(String)
  tags!: Record<string, string>;
}

export class ListedKnowledgeBase extends KnowledgeBase {
  @IsString()
  createdAt!: string;
}

export class KnowledgeBaseReply {
  @Nested(KnowledgeBase)
  knowledgeBase!: KnowledgeBase;
}

export class KnowledgeBaseId {
  @PathParam()
  id!: string;
}

/** In `tags`, a named entry is replaced and `null` removes it. */
export class UpdateKnowledgeBase extends KnowledgeBaseId {
  @IsString()
  @Length(1, 200)
  name!: string;

  @Optional()
  @MapOf(String, { nullable: true, maxLength: 1000, maxEntries: 2 * maxKnowledgeBaseTags })
  tags?: Record<string, string | null>;
}

export class ListKnowledgeBases extends PageQuery {
  @QueryTags()
  tags?: TagQuery;
}

export class KnowledgeBases {
  @ListOf(ListedKnowledgeBase)
  knowledgeBases!: ListedKnowledgeBase[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

/** Those of the bot: whoever may act on the bot sees them all, but only the bot changes them. */
export const knowledgeBases = {
  create: operation({
    subject: 'files.knowledgeBases.create',
    route: 'POST /v1/files/knowledge-bases',
    summary: 'Creates a knowledge base.',
    access: bot.write,
    input: CreateKnowledgeBase,
    output: KnowledgeBaseReply,
    isIdempotent: true,
  }),
  list: operation({
    subject: 'files.knowledgeBases.list',
    route: 'GET /v1/files/knowledge-bases',
    summary: 'Lists the knowledge bases of the bot, newest first.',
    access: bot.readAlsoByIntegration,
    input: ListKnowledgeBases,
    output: KnowledgeBases,
  }),
  update: operation({
    subject: 'files.knowledgeBases.update',
    route: 'PUT /v1/files/knowledge-bases/{id}',
    summary: 'Changes the name or the tags of a knowledge base.',
    access: bot.write,
    input: UpdateKnowledgeBase,
    output: KnowledgeBaseReply,
  }),
  delete: operation({
    subject: 'files.knowledgeBases.delete',
    route: 'DELETE /v1/files/knowledge-bases/{id}',
    summary: 'Deletes a knowledge base. Files that name it stay.',
    access: bot.write,
    input: KnowledgeBaseId,
    output: Empty,
  }),
};
