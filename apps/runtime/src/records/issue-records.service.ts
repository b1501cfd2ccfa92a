import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import { writeLastBatches } from '@parley/background/write-last-batches';
import { type IssueCategory, type IssueEvent, type IssueValue, maxIssueEvents } from '@parley/contracts/runtime/issues';
import type { Sql, Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { Every } from '@parley/work-queue/worker';
import { fingerprintOf } from './fingerprint';
import { IssuesRepository, type NewIssue } from './issues.repository';

const writeTask = 'runtime.issueWrites';
/** Failures within this time share a statement. */
const collectMs = 200;
/** Each failure starts a round. */
const idleMs = 60_000;
/** Memory: issues that wait in one process, in all and of one bot. */
const maxWaiting = 500;
const maxWaitingOfBot = 50;
const maxWrittenTogether = 50;
/** Issues that a bot keeps: its messages may differ in ways that a fingerprint does not see. */
const maxIssuesOfBot = 500;
const maxValues = 20;
const maxTextLength = 1_000;

export interface Failure {
  botId: string;
  code: string;
  title: string;
  description: string;
  category: IssueCategory;
  data: Record<string, IssueValue>;
  /** Names of the data that failures of the same kind share. Without any, these share the normalised description. */
  groupBy?: string[];
}

/**
 * Group commit: failures of the same kind are counted in memory and written together. Recording never waits: when the
 * database is slow, failures are dropped, and counted in `parley_issue_events_dropped_total`.
 */
@Injectable()
export class IssueRecordsService implements BeforeApplicationShutdown {
  private readonly waiting = new Map<string, NewIssue>();
  private readonly waitingOfBots = new KeyCounts();
  private readonly countDropped: (by?: number) => void;

  constructor(
    private readonly issues: IssuesRepository,
    private readonly background: BackgroundTasks,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.countDropped = platform.metrics.counter(
      'parley_issue_events_dropped_total',
      'Failures of bots that no issue counts, because too many waited or the database refused them.',
    );
  }

  record(failure: Failure): void {
    const issue = issueOf(failure);
    const key = `${issue.bot_id}/${issue.fingerprint}`;
    const known = this.waiting.get(key);
    if (known) merge(known, issue);
    else if (!this.hasRoomFor(issue.bot_id)) return this.countDropped();
    else this.waiting.set(key, issue);
    this.background.wake(writeTask, collectMs);
  }

  /** For failures that must not be dropped. */
  async recordIn(tx: Transaction, failure: Failure): Promise<void> {
    await this.store([issueOf(failure)], tx);
  }

  @Every({ name: writeTask, everyMs: idleMs })
  async write(): Promise<boolean> {
    const batch = [...this.waiting].slice(0, maxWrittenTogether);
    if (batch.length === 0) return false;
    for (const [key, { bot_id }] of batch) {
      this.waiting.delete(key);
      this.waitingOfBots.add(bot_id, -1);
    }
    try {
      await this.store(batch.map(([, issue]) => issue));
    } catch (error) {
      this.countDropped(batch.reduce((sum, [, { events_count }]) => sum + events_count, 0));
      throw error;
    }
    return this.waiting.size > 0;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await writeLastBatches(() => this.write(), this.platform.logger);
  }

  private async store(issues: NewIssue[], sql?: Sql): Promise<void> {
    const bots = await this.issues.addToIssues(issues, sql);
    for (const botId of bots) await this.issues.deleteBeyond(botId, maxIssuesOfBot, sql);
  }

  private hasRoomFor(botId: string): boolean {
    const hasRoom = this.waiting.size < maxWaiting && this.waitingOfBots.count(botId) < maxWaitingOfBot;
    if (hasRoom) this.waitingOfBots.add(botId, 1);
    return hasRoom;
  }
}

function issueOf({ botId, code, title, description, category, data, groupBy = [] }: Failure): NewIssue {
  const now = new Date().toISOString();
  const values = Object.entries(data).slice(0, maxValues).map(shortened);
  const groupedData = Object.fromEntries(values.filter(([name]) => groupBy.includes(name)));
  const event: IssueEvent = { id: newId('issev'), createdAt: now, data: Object.fromEntries(values) };
  return {
    bot_id: botId,
    id: newId('issue'),
    fingerprint: fingerprintOf(code, groupedData, cut(description)),
    code,
    category,
    title: cut(title),
    description: cut(description),
    grouped_data: groupedData,
    events_count: 1,
    events: [event],
    created_at: now,
    last_seen_at: now,
  };
}

function merge(known: NewIssue, { title, description, category, events, last_seen_at }: NewIssue): void {
  known.events_count += 1;
  Object.assign(known, { title, description, category, last_seen_at });
  known.events = [...events, ...known.events].slice(0, maxIssueEvents);
}

function shortened([name, { raw, pretty }]: [string, IssueValue]): [string, IssueValue] {
  return [cut(name), { raw: cut(raw), ...(pretty === undefined ? {} : { pretty: cut(pretty) }) }];
}

function cut(text: string): string {
  return text.slice(0, maxTextLength);
}
