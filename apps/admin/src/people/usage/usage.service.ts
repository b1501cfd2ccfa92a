import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import {
  type DailyUsageQuery,
  type DailyUsages,
  type MultipleUsagesQuery,
  type QuotaCompletion,
  type QuotaCompletions,
  type Usage,
  type UsageActivities,
  type UsageActivityQuery,
  type UsageByBot,
  type UsageHistoryQuery,
  type UsageQuery,
  type UsageReply,
  type Usages,
  type UsageType,
  usageTypes,
} from '@parley/contracts/admin/usage';
import { notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { AdminConfig } from '../../config';
import { RolesRepository } from '../access/roles.repository';
import { BudgetsRepository } from './budgets.repository';
import { isUsedUp, quotaOf } from './quota-amounts';
import { thisMonth } from './quotas.service';
import { toActivity, toDailyUsage, type UsageSubject } from './usage.entity';
import { UsageRepository } from './usage.repository';

@Injectable()
export class UsageService {
  constructor(
    private readonly config: AdminConfig,
    private readonly database: Database,
    private readonly usage: UsageRepository,
    private readonly budgets: BudgetsRepository,
    private readonly roles: RolesRepository,
  ) {}

  async get(caller: AccountCaller, { id, type, period }: UsageQuery): Promise<UsageReply> {
    const [usage] = await this.usagesOf(await this.subjectsOf(caller, [id]), [type], period);
    return { usage: usage! };
  }

  async getMultiple(caller: AccountCaller, { ids, types, period }: MultipleUsagesQuery): Promise<Usages> {
    const requestedTypes = usageTypes.filter((type) => types.includes(type));
    return { usages: await this.usagesOf(await this.subjectsOf(caller, ids), requestedTypes, period) };
  }

  async listOfWorkspace(caller: AccountCaller, { id, type, period }: UsageQuery): Promise<Usages> {
    return { usages: await this.usagesOf([await this.workspaceOf(caller, id)], [type], period) };
  }

  async breakDownByBot(caller: AccountCaller, { id, type, period = thisMonth() }: UsageQuery): Promise<UsageByBot> {
    await this.workspaceOf(caller, id);
    const rows = await this.usage.listByBot(id, type, period);
    return { data: rows.map(({ bot_id, value }) => ({ botId: bot_id, value })) };
  }

  /** Excludes limits of a single call or file, which have no usage. */
  async listCompletion({ account }: AccountCaller): Promise<QuotaCompletions> {
    const workspaces = await this.usage.listWorkspacesOf(account.id);
    const completions: Record<string, QuotaCompletion> = {};
    for (const { id, type, value, quota } of await this.usagesOf(workspaces, usageTypes.filter(isUsedUp))) {
      const completion = quota > 0 ? value / quota : 1;
      if (completion > (completions[id]?.completion ?? -1)) completions[id] = { type, completion };
    }
    return completions;
  }

  async listHistory(caller: AccountCaller, { id, type }: UsageHistoryQuery): Promise<Usages> {
    const [subject] = await this.subjectsOf(caller, [id]);
    const [now] = await this.usagesOf([subject!], [type]);
    const rows = await this.usage.listHistory(subject!, type, now!.period);
    return { usages: rows.map((row) => (row.period === now!.period ? now! : { ...now!, ...row })) };
  }

  async listActivity(caller: AccountCaller, query: UsageActivityQuery): Promise<UsageActivities> {
    const [subject] = await this.subjectsOf(caller, [query.id]);
    const { rows, nextToken } = await this.usage.listActivity(subject!, query);
    return { data: rows.map(toActivity), meta: { nextToken } };
  }

  async listDailyActivity(caller: AccountCaller, query: DailyUsageQuery): Promise<DailyUsages> {
    const [subject] = await this.subjectsOf(caller, [query.id]);
    const { rows, nextToken } = await this.usage.listDays(subject!, query);
    return { data: rows.map(toDailyUsage), meta: { nextToken } };
  }

  private async workspaceOf(caller: AccountCaller, id: string): Promise<UsageSubject> {
    await this.roles.requireRole(this.database, caller, id, 'belong');
    return { id, workspace_id: id, bot_id: '' };
  }

  /**
   * Resolves ids to workspaces and bots, in the same order. Throws ResourceNotFound for a missing one or one of another
   * workspace.
   */
  private async subjectsOf({ account }: AccountCaller, ids: string[]): Promise<UsageSubject[]> {
    const found = new Map((await this.usage.listSubjects(account.id, ids)).map((subject) => [subject.id, subject]));
    return [...new Set(ids)].map((id) => {
      const subject = found.get(id);
      if (!subject) throw notFound('workspace or bot', id);
      return subject;
    });
  }

  /** Sorted by subject, then by type. For the current month, bots and members are counted in their own tables. */
  private async usagesOf(
    subjects: UsageSubject[],
    types: readonly UsageType[],
    period = thisMonth(),
  ): Promise<Usage[]> {
    const amounts = new Map<string, number>();
    for (const { id, type, value } of await this.usage.listAmounts(subjects, types, period)) {
      amounts.set(`${type} ${id}`, value);
    }
    if (period === thisMonth()) {
      const workspaceIds = subjects.filter(({ bot_id }) => !bot_id).map(({ id }) => id);
      for (const { id, ...own } of await this.usage.listOwnAmounts(workspaceIds)) {
        for (const [type, value] of Object.entries(own)) amounts.set(`${type} ${id}`, value);
      }
    }
    const dollars = types.includes('ai_spend') ? await this.budgets.listDollars(subjects) : new Map<string, number>();
    return subjects.flatMap(({ id }) =>
      types.map((type) => ({
        id,
        period,
        value: amounts.get(`${type} ${id}`) ?? 0,
        quota: (type === 'ai_spend' ? dollars.get(id) : undefined) ?? quotaOf(this.config, type),
        type,
      })),
    );
  }
}
