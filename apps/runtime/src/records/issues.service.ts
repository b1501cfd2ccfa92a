import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { botVisibility } from '@parley/contracts/admin/bot-visibility';
import { notFound } from '@parley/contracts/errors';
import type { IssueEvents, IssueId, IssueReply, Issues, ListIssues } from '@parley/contracts/runtime/issues';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every } from '@parley/work-queue/worker';
import { toIssue } from './issue.entity';
import { IssuesRepository } from './issues.repository';

const keptDays = 14;
const cleanMs = 60 * 60_000;

@Injectable()
export class IssuesService {
  constructor(
    private readonly client: ParleyClient,
    private readonly issues: IssuesRepository,
  ) {}

  async list(caller: WorkspaceCaller, query: ListIssues): Promise<Issues> {
    await this.requireBot(caller, query.id);
    const { rows, nextToken } = await this.issues.listIssues(query);
    return { issues: rows.map(toIssue), meta: { nextToken } };
  }

  async get(caller: WorkspaceCaller, { id, issueId }: IssueId): Promise<IssueReply> {
    await this.requireBot(caller, id);
    const row = await this.issues.findIssueById(id, issueId);
    if (!row) throw notFound('issue', issueId);
    return { issue: toIssue(row) };
  }

  async listEvents(caller: WorkspaceCaller, { id, issueId }: IssueId): Promise<IssueEvents> {
    await this.requireBot(caller, id);
    const issueEvents = await this.issues.findEventsOfIssue(id, issueId);
    if (!issueEvents) throw notFound('issue', issueId);
    return { issueEvents };
  }

  async delete(caller: WorkspaceCaller, { id, issueId }: IssueId): Promise<object> {
    await this.requireBot(caller, id);
    if (!(await this.issues.deleteIssue(id, issueId))) throw notFound('issue', issueId);
    return {};
  }

  /** Safe to run in several processes. */
  @Every({ name: 'runtime.issueRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.issues.deleteSeenBefore(keptDays);
  }

  private async requireBot(caller: WorkspaceCaller, botId: string): Promise<void> {
    await this.client.call(botVisibility.require, caller, { botId });
  }
}
