import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { files } from '@parley/contracts/files';
import type { SearchFiles } from '@parley/contracts/passage-search';
import { SearchService } from './search.service';

@Controller()
export class SearchController {
  constructor(private readonly service: SearchService) {}

  @Handles(files.search)
  search(caller: BotCaller, input: SearchFiles) {
    return this.service.search(caller, input);
  }
}
