import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { Caller } from '@parley/contracts/caller';
import { callers, type ChatBot } from '@parley/contracts/chat/callers';
import { notFound } from '@parley/contracts/errors';
import { LRUCache } from 'lru-cache';
import { short } from '../rate-limits';

/** Cache TTL where only the reading of a body depends on the answer: the service verifies each request itself. */
const trustMs = 60_000;
/** Maximum age of an answer that a refusal is based on. */
const freshMs = 1_000;
const maxKnown = 50_000;
const maxWebhookIdLength = 1_000;

interface Known extends ChatBot {
  askedAt: number;
}

/**
 * Verifies webhook id and user key with the chat service, before a body is read and before an error about it is
 * returned. Answers are cached.
 */
@Injectable()
export class ChatCallers {
  private readonly known = new LRUCache<string, Known>({ max: maxKnown, ttl: trustMs });
  /** Single flight: pending calls, shared by equal requests. */
  private readonly asked = new Map<string, Promise<Known>>();

  constructor(private readonly client: ParleyClient) {}

  /** An answer at most a minute old, without a call when it is cached. Throws the error of the service. */
  verify(caller: Caller, webhookId: string): ChatBot | Promise<ChatBot> {
    const name = nameOf(caller, webhookId);
    return this.known.get(name) ?? this.ask(name, caller, webhookId);
  }

  /** Throws unless the service accepted this caller within the last second; calls it when the cached answer is older. */
  async verifyAfresh(caller: Caller, webhookId: string): Promise<void> {
    const name = nameOf(caller, webhookId);
    const known = this.known.get(name);
    if (!known || Date.now() - known.askedAt > freshMs) await this.ask(name, caller, webhookId);
  }

  /** Call when the service has accepted a request: refreshes the cached answer. */
  accepted(caller: Caller, webhookId: string): void {
    const name = nameOf(caller, webhookId);
    const known = this.known.get(name);
    if (known) this.known.set(name, { ...known, askedAt: Date.now() });
  }

  private ask(name: string, caller: Caller, webhookId: string): Promise<Known> {
    const asked = this.asked.get(name) ?? this.askOnce(name, caller, webhookId);
    this.asked.set(name, asked);
    return asked;
  }

  private async askOnce(name: string, caller: Caller, webhookId: string): Promise<Known> {
    if (webhookId.length > maxWebhookIdLength || webhookId.includes('\0')) throw notFound('webhook', webhookId);
    const askedAt = Date.now();
    try {
      const known = { ...(await this.client.call(callers.verify, caller, { webhookId })), askedAt };
      this.known.set(name, known);
      return known;
    } catch (error) {
      this.known.delete(name);
      throw error;
    } finally {
      this.asked.delete(name);
    }
  }
}

function nameOf({ userKey = '' }: Caller, webhookId: string): string {
  return `${short(webhookId)} ${short(userKey)}`;
}
