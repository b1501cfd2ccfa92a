import { Controller } from '@nestjs/common';
import { eraseLogs, type SubjectErased } from '@parley/contracts/chat/erased-subjects';
import { Consumes } from '@parley/transport/handles';
import { LogsService } from './logs.service';

@Controller()
export class EraseLogsHandler {
  constructor(private readonly logs: LogsService) {}

  @Consumes(eraseLogs)
  async handle(erased: SubjectErased): Promise<void> {
    await this.logs.eraseSubject(erased);
  }
}
