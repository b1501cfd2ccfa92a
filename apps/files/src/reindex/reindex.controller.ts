import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { files } from '@parley/contracts/files';
import type { DropFormerModels } from '@parley/contracts/reindex';
import { ReindexService } from './reindex.service';
import { WordsService } from './words.service';

@Controller()
export class ReindexController {
  constructor(
    private readonly service: ReindexService,
    private readonly wordsService: WordsService,
  ) {}

  @Handles(files.reindex.advance)
  advance() {
    return this.service.advance();
  }

  @Handles(files.reindex.words)
  words() {
    return this.wordsService.rebuild();
  }

  @Handles(files.reindex.dropFormer)
  dropFormer(_caller: Caller, input: DropFormerModels) {
    return this.service.dropFormer(input);
  }
}
