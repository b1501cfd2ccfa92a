import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { FindTableRows, GetTableRow } from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import { FindService } from './find.service';

@Controller()
export class FindController {
  constructor(private readonly service: FindService) {}

  @Handles(tables.rows.get)
  get(caller: BotCaller, input: GetTableRow) {
    return this.service.get(caller, input);
  }

  @Handles(tables.rows.find)
  find(caller: BotCaller, input: FindTableRows) {
    return this.service.find(caller, input);
  }
}
