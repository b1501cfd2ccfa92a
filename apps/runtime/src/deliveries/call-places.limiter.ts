import { Injectable } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { LRUCache } from 'lru-cache';
import { RuntimeConfig } from '../config';

const maxBots = 10_000;
/** A bot that did not answer this often in a row gets one call at once, until it answers. */
const maxTimeOuts = 3;
const forgetTimeOutsMs = 10 * 60_000;

/**
 * Fair shares of the places for calls in this process. A workspace may have as many as are free: half of them alone, a
 * third beside an equal one. A bot that hangs has one.
 */
@Injectable()
export class CallPlacesLimiter {
  readonly reason = 'The workspace has its share of the calls that run at once.';
  private readonly callsOfBot = new KeyCounts();
  private readonly callsOfWorkspace = new KeyCounts();
  private total = 0;
  private readonly workspaceOf = new LRUCache<string, string>({ max: maxBots });
  private readonly timeOuts = new LRUCache<string, number>({ max: maxBots, ttl: forgetTimeOutsMs });

  constructor(private readonly config: RuntimeConfig) {}

  /** Returns what ends the call, or undefined without a place. */
  enter({ botId, workspaceId }: Pick<BotTarget, 'botId' | 'workspaceId'>): (() => void) | undefined {
    this.workspaceOf.set(botId, workspaceId);
    if (this.isFull(workspaceId) || this.isHanging(botId)) return undefined;
    this.add(botId, workspaceId, 1);
    return () => this.add(botId, workspaceId, -1);
  }

  noteAnswer(botId: string, isInTime: boolean): void {
    if (isInTime) this.timeOuts.delete(botId);
    else this.timeOuts.set(botId, (this.timeOuts.get(botId) ?? 0) + 1);
  }

  /** Bots that would get no place. Each of them, or another bot of its workspace, has a call that runs. */
  heldBots(): string[] {
    const hanging = [...this.callsOfBot.keys()].filter((botId) => this.isHanging(botId));
    const full = new Set([...this.callsOfWorkspace.keys()].filter((workspaceId) => this.isFull(workspaceId)));
    if (full.size === 0) return hanging;
    const ofFull = [...this.workspaceOf].filter(([, workspaceId]) => full.has(workspaceId)).map(([botId]) => botId);
    return [...new Set([...hanging, ...ofFull])];
  }

  private isFull(workspaceId: string): boolean {
    const free = this.config.deliveriesConcurrency - this.total;
    return this.callsOfWorkspace.count(workspaceId) >= free;
  }

  private isHanging(botId: string): boolean {
    return (this.timeOuts.get(botId) ?? 0) >= maxTimeOuts && this.callsOfBot.has(botId);
  }

  private add(botId: string, workspaceId: string, count: number): void {
    this.total += count;
    this.callsOfBot.add(botId, count);
    this.callsOfWorkspace.add(workspaceId, count);
  }
}
