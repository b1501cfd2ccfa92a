import { Injectable } from '@nestjs/common';
import { type WebchatOrigins, webchats } from '@parley/contracts/admin/webchats';
import type { Caller } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import { ParleyClient } from '@parley/transport/parley-client';
import type { TracedRequest } from '@parley/service/request-trace';
import type { FastifyRequest } from 'fastify';
import { atMostEntries } from '@parley/background/entry-limit';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import { LRUCache } from 'lru-cache';

const maxKnown = 20_000;
/** Delay until changed settings apply. */
const ttlMs = 5_000;
const webhookIdForm = /^[\w-]{1,100}$/;

/** Origins whose pages may show a web chat. Answers are cached, and earlier ones are used while the service is away. */
@Injectable()
export class WebchatOriginsService {
  private readonly known: LRUCache<string, WebchatOrigins, TracedRequest>;

  constructor(client: ParleyClient, unauthenticated: UnauthenticatedShare) {
    this.known = new LRUCache({
      ...atMostEntries(maxKnown),
      ttl: ttlMs,
      allowStaleOnFetchRejection: true,
      fetchMethod: (webhookId, stale, { context }) => {
        const call = () => client.call(webchats.getOrigins, callerOf(context), { webhookId });
        return stale ? call() : unauthenticated.run(context, call);
      },
    });
  }

  /** Throws ResourceNotFound for an unknown webhook id. */
  async get(context: TracedRequest, webhookId: string): Promise<WebchatOrigins> {
    const origins = webhookIdForm.test(webhookId) ? await this.known.fetch(webhookId, { context }) : undefined;
    if (!origins) throw notFound('web chat', webhookId);
    return origins;
  }

  /**
   * Whether the page that sends the request may read the response. Every page may while nobody can say which: the list
   * controls no access, and the page can read the error.
   */
  async allows(request: TracedRequest, webhookId: string): Promise<boolean> {
    const { pages } = await this.get(request, webhookId).catch(() => ({ pages: [] as string[] }));
    return pages.length === 0 || pages.includes(request.headers.origin!);
  }
}

/** Webhook id of the web chat that is requested. */
export function webchatOf({ url }: FastifyRequest): string | undefined {
  return /^\/(?:chat|webchat)\/(?!assets\/)([^/?]+)\//.exec(url)?.[1];
}

function callerOf({ id: requestId, traceparent }: TracedRequest): Caller {
  return { requestId, traceparent, credential: 'none' };
}
