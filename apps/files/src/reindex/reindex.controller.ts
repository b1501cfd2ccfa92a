import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { files } from '@parley/contracts/files';
import type { DropFormerModels, ListOlderFiles, ReadOlderFiles } from '@parley/contracts/reindex';
import { OlderReadersService } from './older-readers.service';
import { ReindexService } from './reindex.service';
import { WordsService } from './words.service';

@Controller()
export class ReindexController {
  constructor(
    private readonly service: ReindexService,
    private readonly wordsService: WordsService,
    private readonly olderReaders: OlderReadersService,
  ) {}

  @Handles(files.reindex.advance)
  advance() {
    return this.service.advance();
  }

  @Handles(files.reindex.words)
  words() {
    return this.wordsService.rebuild();
  }

  @Handles(files.reindex.listOlder)
  listOlder(_caller: Caller, input: ListOlderFiles) {
    return this.olderReaders.list(input);
  }

  @Handles(files.reindex.readOlder)
  readOlder(_caller: Caller, input: ReadOlderFiles) {
    return this.olderReaders.readAnew(input);
  }

  @Handles(files.reindex.dropFormer)
  dropFormer(_caller: Caller, input: DropFormerModels) {
    return this.service.dropFormer(input);
  }
}
