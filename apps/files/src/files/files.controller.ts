import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import {
  type CopyFile,
  type FileId,
  files,
  type StoreFile,
  type ListFiles,
  type ListFileTagValues,
  type UpdateFile,
  type UpsertFile,
} from '@parley/contracts/files';
import type { PageQuery } from '@parley/contracts/paging';
import { CopiesService } from './copies.service';
import { FilesService } from './files.service';
import { StoredContentsService } from './stored-contents.service';

@Controller()
export class FilesController {
  constructor(
    private readonly service: FilesService,
    private readonly copies: CopiesService,
    private readonly contents: StoredContentsService,
  ) {}

  @Handles(files.upsert)
  upsert(caller: BotCaller, input: UpsertFile) {
    return this.service.upsert(caller, input);
  }

  @Handles(files.store)
  store(caller: Caller, input: StoreFile) {
    return this.contents.store(caller as BotCaller, input);
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

  @Handles(files.indexAgain)
  indexAgain(caller: BotCaller, input: FileId) {
    return this.service.indexAgain(caller, input);
  }

  @Handles(files.copy)
  copy(caller: BotCaller, input: CopyFile) {
    return this.copies.copy(caller, input);
  }

  @Handles(files.listTags)
  listTags(caller: BotCaller, input: PageQuery) {
    return this.service.listTags(caller, input);
  }

  @Handles(files.listTagValues)
  listTagValues(caller: BotCaller, input: ListFileTagValues) {
    return this.service.listTagValues(caller, input);
  }
}
