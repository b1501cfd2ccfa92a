import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { cognitive, type GenerateText } from '@parley/contracts/models/cognitive';
import { Handles } from '@parley/transport/handles';
import { CognitiveService } from './cognitive.service';

@Controller()
export class CognitiveController {
  constructor(private readonly service: CognitiveService) {}

  @Handles(cognitive.generateText)
  generateText(caller: BotCaller, input: GenerateText) {
    return this.service.generateText(caller, input);
  }

  @Handles(cognitive.generateTextStream)
  generateTextStream(caller: BotCaller, input: GenerateText) {
    return this.service.streamText(caller, input);
  }

  @Handles(cognitive.listModels)
  listModels() {
    return this.service.listModels();
  }
}
