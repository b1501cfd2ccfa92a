import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import {
  type CreateKnowledgeBase,
  type KnowledgeBaseId,
  knowledgeBases,
  type ListKnowledgeBases,
  type UpdateKnowledgeBase,
} from '@parley/contracts/knowledge-bases';
import { KnowledgeBasesService } from './knowledge-bases.service';

@Controller()
export class KnowledgeBasesController {
  constructor(private readonly service: KnowledgeBasesService) {}

  @Handles(knowledgeBases.create)
  create(caller: BotCaller, input: CreateKnowledgeBase) {
    return this.service.create(caller, input);
  }

  @Handles(knowledgeBases.list)
  list(caller: BotCaller, input: ListKnowledgeBases) {
    return this.service.list(caller, input);
  }

  @Handles(knowledgeBases.update)
  update(caller: BotCaller, input: UpdateKnowledgeBase) {
    return this.service.update(caller, input);
  }

  @Handles(knowledgeBases.delete)
  delete(caller: BotCaller, input: KnowledgeBaseId) {
    return this.service.delete(caller, input);
  }
}
