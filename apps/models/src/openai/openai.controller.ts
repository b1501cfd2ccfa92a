import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { type CreateChatCompletion, type CreateEmbeddings, openAi } from '@parley/contracts/models/openai';
import { Handles } from '@parley/transport/handles';
import { AnswersService } from '../generation/answers.service';
import { EmbeddingsService } from './embeddings.service';
import { OpenAiService } from './openai.service';

@Controller()
export class OpenAiController {
  constructor(
    private readonly service: OpenAiService,
    private readonly embeddings: EmbeddingsService,
    private readonly answers: AnswersService,
  ) {}

  @Handles(openAi.createChatCompletion)
  createChatCompletion(caller: BotCaller, input: CreateChatCompletion) {
    return this.service.createChatCompletion(caller, input);
  }

  @Handles(openAi.createEmbeddings)
  createEmbeddings(caller: BotCaller, input: CreateEmbeddings) {
    return this.answers.whole(caller, (signal) => this.embeddings.create(caller, input, signal));
  }

  @Handles(openAi.listModels)
  listModels() {
    return this.service.listModels();
  }
}
