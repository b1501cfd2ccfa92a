import { Controller } from '@nestjs/common';
import { eraseRecordings, type InstallationsChanged } from '@parley/contracts/admin/installations';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { Consumes } from '@parley/transport/handles';
import { WebhookRecordingsService } from './webhook-recordings.service';

@Controller()
export class EraseRecordingsHandler {
  constructor(private readonly recordings: WebhookRecordingsService) {}

  /** Idempotent, in any order: it asks which installations there are now. */
  @Consumes(eraseRecordings)
  async handle({ botId }: InstallationsChanged): Promise<void> {
    await this.recordings.eraseUninstalled(systemCaller(newId('req')), botId);
  }
}
