import { Controller } from '@nestjs/common';
import { Handles } from '@parley/bus/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { CreateTableRows } from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import { RowsService } from './rows.service';

@Controller()
export class RowsController {
  constructor(private readonly service: RowsService) {}

  @Handles(tables.rows.create)
  create(caller: BotCaller, input: CreateTableRows) {
    return this.service.create(caller, input);
  }
}
