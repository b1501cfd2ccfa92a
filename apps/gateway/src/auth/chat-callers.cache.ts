import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { Caller } from '@parley/contracts/caller';
import { callers, type ChatBot } from '@parley/contracts/chat/callers';
import { notFound } from '@parley/contracts/errors';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { boundedKey } from '../rate-limits/rate.limiter';

/** Cache TTL where only the reading of a body depends on the answer: the service verifies each request itself. */
const trustMs = 60_000;
/** Maximum age of an answer that a refusal is based on. */
const freshMs = 1_000;
const maxKnown = 50_000;
const maxWebhookIdLength = 1_000;

interface VerifiedBot extends ChatBot {
  verifiedAt: number;
}

/**
 * Verifies webhook id and user key with the chat service, before a body is read and before an error about it is
 * returned. Answers are cached.
 */
@Injectable()
export class ChatCallersCache {
  private readonly known = new LRUCache<string, VerifiedBot>({ ...atMostEntries(maxKnown), ttl: trustMs });
  /** Single flight: pending calls, shared by equal requests. */
  private readonly pending = new Map<string, Promise<VerifiedBot>>();

  constructor(private readonly client: ParleyClient) {}

  /** An answer at most a minute old. */
  find(caller: Caller, webhookId: string): ChatBot | undefined {
    return this.known.get(cacheKeyOf(caller, webhookId));
  }

  /** An answer at most a minute old, without a call when it is cached. Throws the error of the service. */
  verify(caller: Caller, webhookId: string): ChatBot | Promise<ChatBot> {
    const name = cacheKeyOf(caller, webhookId);
    return this.known.get(name) ?? this.verifyNow(name, caller, webhookId);
  }

  /** Throws unless the service accepted this caller within the last second; calls it when the cached answer is older. */
  async verifyAfresh(caller: Caller, webhookId: string): Promise<void> {
    const name = cacheKeyOf(caller, webhookId);
    const known = this.known.get(name);
    if (!known || Date.now() - known.verifiedAt > freshMs) await this.verifyNow(name, caller, webhookId);
  }

  /** Call when the service has accepted a request: refreshes the cached answer. */
  confirm(caller: Caller, webhookId: string): void {
    const name = cacheKeyOf(caller, webhookId);
    const known = this.known.get(name);
    if (known) this.known.set(name, { ...known, verifiedAt: Date.now() });
  }

  private verifyNow(name: string, caller: Caller, webhookId: string): Promise<VerifiedBot> {
    const pending = this.pending.get(name) ?? this.call(name, caller, webhookId);
    this.pending.set(name, pending);
    return pending;
  }

  private async call(name: string, caller: Caller, webhookId: string): Promise<VerifiedBot> {
    if (webhookId.length > maxWebhookIdLength || webhookId.includes('\0')) throw notFound('webhook', webhookId);
    const verifiedAt = Date.now();
    try {
      const known = { ...(await this.client.call(callers.verify, caller, { webhookId })), verifiedAt };
      this.known.set(name, known);
      return known;
    } catch (error) {
      this.known.delete(name);
      throw error;
    } finally {
      this.pending.delete(name);
    }
  }
}

function cacheKeyOf({ userKey = '' }: Caller, webhookId: string): string {
  return `${boundedKey(webhookId)} ${boundedKey(userKey)}`;
}
