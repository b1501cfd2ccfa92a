import { Controller } from '@nestjs/common';
import { type CodeNotLoadable, recordUnloadableCode } from '@parley/contracts/admin/bots';
import { Inbox } from '@parley/events/inbox';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { IssueRecordsService } from './issue-records.service';

const deployed = { code: 'code_not_loadable', title: 'The deployed code cannot be loaded' };
const refused = { code: 'deployment_refused', title: 'A deployment was refused: its code cannot be loaded' };

/** Safe to repeat: the inbox deduplicates events. */
@Controller()
export class UnloadableCodeHandler {
  constructor(
    private readonly issues: IssueRecordsService,
    private readonly inbox: Inbox,
  ) {}

  @Consumes(recordUnloadableCode)
  async handle({ botId, failure, isDeployed }: CodeNotLoadable, { event }: Delivery): Promise<void> {
    await this.inbox.once(recordUnloadableCode.name, event.id, (tx) =>
      this.issues.recordIn(tx, {
        ...(isDeployed ? deployed : refused),
        botId,
        category: 'user_code',
        description: failure,
        data: { reason: { raw: failure } },
      }),
    );
  }
}
