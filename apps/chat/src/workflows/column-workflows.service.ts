import { Injectable } from '@nestjs/common';
import {
  cellComputedByWorkflow,
  type CellOutcome,
  type WorkflowRequested,
} from '@parley/contracts/tables/computations';
import { Outbox } from '@parley/events/outbox';
import type { Transaction } from '@parley/persistence/database';
import { WorkflowEventsService } from './workflow-events.service';
import type { WorkflowEntity } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

/** An event has at most 256 kB. No table takes a larger value. */
const maxValueBytes = 150_000;

/** Workflows whose output is the value of a computed column. */
@Injectable()
export class ColumnWorkflowsService {
  constructor(
    private readonly workflows: WorkflowsRepository,
    private readonly events: WorkflowEventsService,
    private readonly outbox: Outbox,
  ) {}

  async start(tx: Transaction, { botId, workflow: name, row, ...cell }: WorkflowRequested): Promise<void> {
    const workflow = await this.workflows.insertWorkflow(tx, {
      ...{ bot_id: botId, name, status: 'pending', tags: {}, timeout_at: null, cell },
      ...{ integration_alias: null, parent_workflow_id: null, conversation_id: null, user_id: null, event_id: null },
      input: { tableId: cell.tableId, column: cell.column, row },
    });
    await this.events.createUpdate(tx, 'workflow_started', workflow);
  }

  /** Call in the transaction that ended the workflow. */
  async announceOutcome(tx: Transaction, workflow: WorkflowEntity): Promise<void> {
    await this.announce(tx, workflow, outcomeOf(workflow));
  }

  async announceFailure(tx: Transaction, workflow: WorkflowEntity, error: string): Promise<void> {
    await this.announce(tx, workflow, { error });
  }

  private async announce(tx: Transaction, { bot_id, cell }: WorkflowEntity, outcome: CellOutcome): Promise<void> {
    if (!cell) return;
    const { tableId, rowId, column, version } = cell;
    const rows = [{ rowId, columns: [column], version, cells: { [column]: outcome } }];
    await this.outbox.add(tx, cellComputedByWorkflow, { botId: bot_id, tableId, rows });
  }
}

function outcomeOf({ name, status, output, failure_reason }: WorkflowEntity): CellOutcome {
  if (status !== 'completed')
    return { error: `The workflow "${name}" ended as ${status}${failure_reason ? `: ${failure_reason}` : '.'}` };
  if (!Object.hasOwn(output, 'value'))
    return { error: `The workflow "${name}" has no output "value": complete it with an output such as {"value": …}.` };
  const value = output['value'];
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= maxValueBytes) return { value };
  return {
    error: `The output "value" of the workflow "${name}" has ${bytes} bytes of JSON: at most ${maxValueBytes} are possible.`,
  };
}
