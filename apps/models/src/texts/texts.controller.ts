import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { type AskForText, texts } from '@parley/contracts/models/texts';
import { Handles } from '@parley/transport/handles';
import { TextsService } from './texts.service';

@Controller()
export class TextsController {
  constructor(private readonly service: TextsService) {}

  @Handles(texts.generate)
  generate(caller: Caller, input: AskForText) {
    return this.service.generate(caller, input);
  }
}
