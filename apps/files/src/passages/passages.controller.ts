import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { files } from '@parley/contracts/files';
import type { ListFilePassages, SetFilePassages } from '@parley/contracts/passages';
import { PassagesService } from './passages.service';

@Controller()
export class PassagesController {
  constructor(private readonly service: PassagesService) {}

  @Handles(files.setPassages)
  set(caller: BotCaller, input: SetFilePassages) {
    return this.service.set(caller, input);
  }

  @Handles(files.listPassages)
  list(caller: BotCaller, input: ListFilePassages) {
    return this.service.list(caller, input);
  }
}
