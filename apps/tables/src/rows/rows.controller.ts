import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type {
  CreateTableRows,
  DeleteTableRows,
  UpdateTableRows,
  UpsertTableRows,
  FindTableRows,
  GetTableRow,
} from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import { Handles } from '@parley/transport/handles';
import { QueriesService } from '../queries/queries.service';
import { RowChangesService } from './row-changes.service';
import { RowDeletionsService } from './row-deletions.service';
import { RowsService } from './rows.service';

@Controller()
export class RowsController {
  constructor(
    private readonly service: RowsService,
    private readonly changes: RowChangesService,
    private readonly deletions: RowDeletionsService,
    private readonly queries: QueriesService,
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

  @Handles(tables.rows.get)
  get(caller: BotCaller, input: GetTableRow) {
    return this.queries.get(caller, input);
  }

  @Handles(tables.rows.find)
  find(caller: BotCaller, input: FindTableRows) {
    return this.queries.find(caller, input);
  }
}
