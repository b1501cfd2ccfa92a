import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { ListTagValues } from '@parley/contracts/chat/tags';
import { TagsService } from './tags.service';

@Controller()
export class TagsController {
  constructor(private readonly service: TagsService) {}

  @Handles(chat.tags.listValues)
  listValues(caller: BotCaller, input: ListTagValues) {
    return this.service.listValues(caller, input);
  }
}
