import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import {
  type CopyFile,
  type CountLeftovers,
  type FileId,
  files,
  type ListFiles,
  type ListFileTagValues,
  type UpdateFile,
  type UpsertFile,
} from '@parley/contracts/files';
import type { PageQuery } from '@parley/contracts/paging';
import type { SearchFiles } from '@parley/contracts/passage-search';
import { type ListFilePassages, type SetFilePassages } from '@parley/contracts/passages';
import { FilesService } from './files.service';
import { SearchService } from '../search/search.service';

@Controller()
export class FilesController {
  constructor(
    private readonly service: FilesService,
    private readonly passageSearch: SearchService,
  ) {}

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

  @Handles(files.copy)
  copy(caller: BotCaller, input: CopyFile) {
    return this.service.copy(caller, input);
  }

  @Handles(files.search)
  search(caller: BotCaller, input: SearchFiles) {
    return this.passageSearch.search(caller, input);
  }

  @Handles(files.listTags)
  listTags(caller: BotCaller, input: PageQuery) {
    return this.service.listTags(caller, input);
  }

  @Handles(files.listTagValues)
  listTagValues(caller: BotCaller, input: ListFileTagValues) {
    return this.service.listTagValues(caller, input);
  }

  @Handles(files.setPassages)
  setPassages(caller: BotCaller, input: SetFilePassages) {
    return this.service.setPassages(caller, input);
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
