import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { ListTagValues, TagValues } from '@parley/contracts/chat/tags';
import { storedName } from '../queries/scope';
import { TagsRepository } from './tags.repository';

@Injectable()
export class TagsService {
  constructor(private readonly values: TagsRepository) {}

  async listValues(caller: BotCaller, query: ListTagValues): Promise<TagValues> {
    const { rows, nextToken } = await this.values.listTagValues(caller.bot.id, {
      ...query,
      key: storedName(caller, query.key),
    });
    return { tags: rows.map(({ value }) => ({ value })), meta: { nextToken } };
  }
}
