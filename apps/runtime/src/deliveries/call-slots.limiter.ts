import { Injectable } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { RuntimeConfig } from '../config';

const maxBots = 10_000;
/** A bot that did not answer this often in a row gets one call at once, until it answers. */
const maxTimeOuts = 3;
const forgetTimeOutsMs = 10 * 60_000;

/**
 * Fair shares of the call slots in this process. A workspace may have as many as are free: half of them alone, a third
 * beside an equal one. A bot that does not answer has one, and a bot whose code pauses has none.
 */
@Injectable()
export class CallSlotsLimiter {
  readonly reason = 'The workspace has its share of the calls that run at once.';
  private readonly callsOfBot = new KeyCounts();
  private readonly callsOfWorkspace = new KeyCounts();
  private total = 0;
  private readonly workspaceOf = new LRUCache<string, string>(atMostEntries(maxBots));
  private readonly timeOuts = new LRUCache<string, number>({ ...atMostEntries(maxBots), ttl: forgetTimeOutsMs });
  private readonly paused = new LRUCache<string, true>(atMostEntries(maxBots));

  constructor(private readonly config: RuntimeConfig) {}

  /** Returns what ends the call, or undefined without a slot. */
  acquire({ botId, workspaceId }: Pick<BotTarget, 'botId' | 'workspaceId'>): (() => void) | undefined {
    this.workspaceOf.set(botId, workspaceId);
    if (this.isFull(workspaceId) || this.isUnresponsive(botId)) return undefined;
    this.add(botId, workspaceId, 1);
    return () => this.add(botId, workspaceId, -1);
  }

  noteAnswer(botId: string, isInTime: boolean): void {
    if (isInTime) this.timeOuts.delete(botId);
    else this.timeOuts.set(botId, (this.timeOuts.get(botId) ?? 0) + 1);
  }

  /** The delivery that found it out wakes the others: it is parked until the end of the pause, or a change of the bot. */
  pause(botId: string, pauseMs: number): void {
    this.paused.set(botId, true, { ttl: pauseMs });
  }

  resume(botId: string): void {
    this.paused.delete(botId);
  }

  /** Bots that would get no slot. Each of them pauses, or has a call that runs, or another bot of its workspace has. */
  saturatedBots(): string[] {
    const unresponsive = [...this.callsOfBot.keys()].filter((botId) => this.isUnresponsive(botId));
    const saturated = [...unresponsive, ...this.paused.keys()];
    const full = new Set([...this.callsOfWorkspace.keys()].filter((workspaceId) => this.isFull(workspaceId)));
    if (full.size === 0) return saturated;
    const ofFull = [...this.workspaceOf].filter(([, workspaceId]) => full.has(workspaceId)).map(([botId]) => botId);
    return [...new Set([...saturated, ...ofFull])];
  }

  private isFull(workspaceId: string): boolean {
    const free = this.config.deliveriesConcurrency - this.total;
    return this.callsOfWorkspace.count(workspaceId) >= free;
  }

  private isUnresponsive(botId: string): boolean {
    return (this.timeOuts.get(botId) ?? 0) >= maxTimeOuts && this.callsOfBot.has(botId);
  }

  private add(botId: string, workspaceId: string, count: number): void {
    this.total += count;
    this.callsOfBot.add(botId, count);
    this.callsOfWorkspace.add(workspaceId, count);
  }
}
