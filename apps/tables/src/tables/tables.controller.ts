import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type {
  CreateTable,
  DuplicateTable,
  GetOrCreateTable,
  ListTables,
  RenameTableColumn,
  TableName,
  UpdateTable,
} from '@parley/contracts/tables/table-definition';
import { tables } from '@parley/contracts/tables/tables';
import { TableCopiesService } from './table-copies.service';
import { TablesService } from './tables.service';

@Controller()
export class TablesController {
  constructor(
    private readonly service: TablesService,
    private readonly copies: TableCopiesService,
  ) {}

  @Handles(tables.create)
  create(caller: BotCaller, input: CreateTable) {
    return this.service.create(caller, input);
  }

  @Handles(tables.get)
  get(caller: BotCaller, input: TableName) {
    return this.service.get(caller, input);
  }

  @Handles(tables.getOrCreate)
  getOrCreate(caller: BotCaller, input: GetOrCreateTable) {
    return this.service.getOrCreate(caller, input);
  }

  @Handles(tables.list)
  list(caller: BotCaller, input: ListTables) {
    return this.service.list(caller, input);
  }

  @Handles(tables.update)
  update(caller: BotCaller, input: UpdateTable) {
    return this.service.update(caller, input);
  }

  @Handles(tables.renameColumn)
  renameColumn(caller: BotCaller, input: RenameTableColumn) {
    return this.service.renameColumn(caller, input);
  }

  @Handles(tables.duplicate)
  duplicate(caller: BotCaller, input: DuplicateTable) {
    return this.copies.duplicate(caller, input);
  }

  @Handles(tables.delete)
  delete(caller: BotCaller, input: TableName) {
    return this.service.delete(caller, input);
  }
}
