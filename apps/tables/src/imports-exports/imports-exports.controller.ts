import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { ExportTable, ImportTable } from '@parley/contracts/tables/jobs';
import type { TableName } from '@parley/contracts/tables/table-definition';
import { tables } from '@parley/contracts/tables/tables';
import { ImportsExportsService } from './imports-exports.service';

@Controller()
export class ImportsExportsController {
  constructor(private readonly service: ImportsExportsService) {}

  @Handles(tables.jobs.export)
  export(caller: BotCaller, input: ExportTable) {
    return this.service.export(caller, input);
  }

  @Handles(tables.jobs.import)
  import(caller: BotCaller, input: ImportTable) {
    return this.service.import(caller, input);
  }

  @Handles(tables.jobs.list)
  list(caller: BotCaller, input: TableName) {
    return this.service.list(caller, input);
  }
}
