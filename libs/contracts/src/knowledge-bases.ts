import { IsString, Length } from 'class-validator';
import { bot } from './access';
import { ListOf, MapOf, Nested, Optional } from './fields';
import { operation } from './operation';
import { Empty, PageMeta, PageQuery } from './paging';
import { PathParam, QueryTags, type TagQuery } from './query-fields';

export const maxKnowledgeBaseTags = 100;

export class CreateKnowledgeBase {
  @IsString() @Length(1, 200) name!: string;
  @Optional() @MapOf(String, { maxLength: 1000, maxEntries: maxKnowledgeBaseTags }) tags?: Record<string, string>;
}

/** Named group of files. A file belongs to it by a tag. */
export class KnowledgeBase {
  @IsString() id!: string;
  @IsString() name!: string;
  @MapOf(String) tags!: Record<string, string>;
}

export class ListedKnowledgeBase extends KnowledgeBase {
  @IsString() createdAt!: string;
}

export class KnowledgeBaseReply {
  @Nested(KnowledgeBase) knowledgeBase!: KnowledgeBase;
}

export class KnowledgeBaseId {
  @PathParam() id!: string;
}

/** In `tags`, an entry replaces the one of its name, and `null` removes it. */
export class UpdateKnowledgeBase extends KnowledgeBaseId {
  @IsString() @Length(1, 200) name!: string;

  @Optional()
  @MapOf(String, { nullable: true, maxLength: 1000, maxEntries: 2 * maxKnowledgeBaseTags })
  tags?: Record<string, string | null>;
}

export class ListKnowledgeBases extends PageQuery {
  @QueryTags() tags?: TagQuery;
}

export class KnowledgeBases {
  @ListOf(ListedKnowledgeBase) knowledgeBases!: ListedKnowledgeBase[];
  @Nested(PageMeta) meta!: PageMeta;
}

/** Knowledge bases of a bot. Everyone with access to the bot reads them; only the bot writes them. */
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
    summary: 'Updates the name or the tags of a knowledge base.',
    access: bot.write,
    input: UpdateKnowledgeBase,
    output: KnowledgeBaseReply,
  }),
  delete: operation({
    subject: 'files.knowledgeBases.delete',
    route: 'DELETE /v1/files/knowledge-bases/{id}',
    summary: 'Deletes a knowledge base. Its files are kept.',
    access: bot.write,
    input: KnowledgeBaseId,
    output: Empty,
  }),
};
