import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { CreateTableRows, DeleteTableRows, UpdateTableRows, UpsertTableRows } from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import { RowChangesService } from './row-changes.service';
import { RowDeletionsService } from './row-deletions.service';
import { RowsService } from './rows.service';

@Controller()
export class RowsController {
  constructor(
    private readonly service: RowsService,
    private readonly changes: RowChangesService,
    private readonly deletions: RowDeletionsService,
  ) {}

  @Handles(tables.rows.create)
  create(caller: BotCaller, input: CreateTableRows) {
    return this.service.create(caller, input);
  }

  @Handles(tables.rows.update)
  update(caller: BotCaller, input: UpdateTableRows) {
    return this.changes.update(caller, input);
  }

  @Handles(tables.rows.upsert)
  upsert(caller: BotCaller, input: UpsertTableRows) {
    return this.changes.upsert(caller, input);
  }

  @Handles(tables.rows.delete)
  delete(caller: BotCaller, input: DeleteTableRows) {
    return this.deletions.delete(caller, input);
  }
}
