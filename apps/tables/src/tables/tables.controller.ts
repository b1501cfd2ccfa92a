import { Controller } from '@nestjs/common';
import { Handles } from '@parley/bus/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { CreateTable, TableName } from '@parley/contracts/tables/table-definition';
import { tables } from '@parley/contracts/tables/tables';
import { TablesService } from './tables.service';

@Controller()
export class TablesController {
  constructor(private readonly service: TablesService) {}

  @Handles(tables.create)
  create(caller: BotCaller, input: CreateTable) {
    return this.service.create(caller, input);
  }

  @Handles(tables.get)
  get(caller: BotCaller, input: TableName) {
    return this.service.get(caller, input);
  }

  @Handles(tables.delete)
  delete(caller: BotCaller, input: TableName) {
    return this.service.delete(caller, input);
  }
}
