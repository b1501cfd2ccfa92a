import { Controller } from '@nestjs/common';
import {
  type CodeNotLoadable,
  type DeploymentRefused,
  recordRefusedDeployment,
  recordUnloadableCode,
} from '@parley/contracts/admin/bots';
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
  async record(unloadable: CodeNotLoadable, { event }: Delivery): Promise<void> {
    await this.recordOnce(recordUnloadableCode, unloadable, event.id);
  }

  @Consumes(recordRefusedDeployment)
  async recordRefused(refusal: DeploymentRefused, { event }: Delivery): Promise<void> {
    await this.recordOnce(recordRefusedDeployment, { ...refusal, isDeployed: false }, event.id);
  }

  private recordOnce({ name }: { name: string }, { botId, failure, isDeployed }: CodeNotLoadable, eventId: string) {
    return this.inbox.once(name, eventId, (tx) =>
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
