import { Controller } from '@nestjs/common';
import { Handles } from '@parley/bus/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { type ListFilePassages } from '@parley/contracts/passages';
import {
  type CountLeftovers,
  type FileId,
  files,
  type ListFiles,
  type UpdateFile,
  type UpsertFile,
} from '@parley/contracts/files';
import { FilesService } from './files.service';

@Controller()
export class FilesController {
  constructor(private readonly service: FilesService) {}

  @Handles(files.upsert)
  upsert(caller: BotCaller, input: UpsertFile) {
    return this.service.upsert(caller, input);
  }

  @Handles(files.get)
  get(caller: BotCaller, input: FileId) {
    return this.service.get(caller, input);
  }

  @Handles(files.list)
  list(caller: BotCaller, input: ListFiles) {
    return this.service.list(caller, input);
  }

  @Handles(files.update)
  update(caller: BotCaller, input: UpdateFile) {
    return this.service.update(caller, input);
  }

  @Handles(files.delete)
  delete(caller: BotCaller, input: FileId) {
    return this.service.delete(caller, input);
  }

  @Handles(files.listPassages)
  listPassages(caller: BotCaller, input: ListFilePassages) {
    return this.service.listPassages(caller, input);
  }

  @Handles(files.countLeftovers)
  countLeftovers(_caller: Caller, input: CountLeftovers) {
    return this.service.countLeftovers(input);
  }
}
