import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { FindTableRows, GetTableRow } from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import { QueriesService } from './queries.service';

@Controller()
export class QueriesController {
  constructor(private readonly service: QueriesService) {}

  @Handles(tables.rows.get)
  get(caller: BotCaller, input: GetTableRow) {
    return this.service.get(caller, input);
  }

  @Handles(tables.rows.find)
  find(caller: BotCaller, input: FindTableRows) {
    return this.service.find(caller, input);
  }
}
