import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { type KeepContents, modelContents } from '@parley/contracts/models/contents';
import { Handles } from '@parley/transport/handles';
import { ContentsService } from './contents.service';

@Controller()
export class ContentsController {
  constructor(private readonly contents: ContentsService) {}

  @Handles(modelContents.get)
  get({ bot }: BotCaller) {
    return this.contents.get(bot.id);
  }

  @Handles(modelContents.set)
  set({ bot }: BotCaller, { kept }: KeepContents) {
    return this.contents.set(bot.id, kept);
  }
}
