import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import type { ReindexRows } from '@parley/contracts/tables/reindex';
import { tables } from '@parley/contracts/tables/tables';
import { ReindexService } from './reindex.service';
import { RowWordsService } from './row-words.service';

@Controller()
export class ReindexController {
  constructor(
    private readonly service: ReindexService,
    private readonly words: RowWordsService,
  ) {}

  @Handles(tables.reindex)
  reindex(_caller: Caller, input: ReindexRows) {
    return this.service.reindex(input);
  }

  @Handles(tables.reindexWords)
  reindexWords() {
    return this.words.rebuild();
  }
}
