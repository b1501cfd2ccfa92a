import { Controller } from '@nestjs/common';
import { type DeploymentRefused, recordRefusedDeployment } from '@parley/contracts/admin/bots';
import { Inbox } from '@parley/events/inbox';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { IssueRecordsService } from './issue-records.service';

/** Safe to repeat: the inbox deduplicates events. */
@Controller()
export class RefusedDeploymentHandler {
  constructor(
    private readonly issues: IssueRecordsService,
    private readonly inbox: Inbox,
  ) {}

  @Consumes(recordRefusedDeployment)
  async handle({ botId, failure }: DeploymentRefused, { event }: Delivery): Promise<void> {
    await this.inbox.once(recordRefusedDeployment.name, event.id, (tx) =>
      this.issues.recordIn(tx, {
        botId,
        code: 'deployment_refused',
        category: 'user_code',
        title: 'A deployment was refused: its code cannot be loaded',
        description: failure,
        data: { reason: { raw: failure } },
      }),
    );
  }
}
