import type { Msg } from 'nats';
import { HandleTable } from '@parley/background/handle-table';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import type { NatsLink } from './nats-connection';
import type { NatsOutgoing } from './nats-outgoing';
import { type Payload, readHeaders } from './nats-payloads';
import { timedOut } from './driver';

const noResponders = 503;

interface OpenRequest {
  subject: string;
  isSent: boolean;
  settle: (outcome: Msg | ApiError) => void;
}

/** Pending requests and the inbox for their answers. The client's own requests create an error with its stack for each. */
export class NatsRequests {
  private readonly inbox: string;
  private readonly open = new HandleTable<OpenRequest>();

  constructor(
    private readonly link: NatsLink,
    private readonly outgoing: NatsOutgoing,
    logger: Logger,
  ) {
    this.inbox = link.newInbox();
    link.connection.subscribe(`${this.inbox}.*`, {
      callback: (error, answer) => {
        if (error) logger.error({ err: error }, 'the inbox for answers failed');
        else this.take(answer);
      },
    });
    link.onLost(() => this.open.values().forEach((request) => request.settle(broken(request))));
    link.onRefused(({ subject }) => {
      for (const request of this.open.values()) if (request.subject === subject) request.settle(refused(request));
    });
  }

  /** @param payload is prepared while the deadline is running. */
  send(subject: string, payload: Payload | Promise<Payload>, timeoutMs: number): Promise<Msg> {
    return new Promise((resolve, reject) => {
      const request: OpenRequest = {
        subject,
        isSent: false,
        settle: (outcome) => {
          clearTimeout(deadline);
          this.open.remove(handle);
          if (outcome instanceof ApiError) reject(outcome);
          else resolve(outcome);
        },
      };
      const deadline = setTimeout(() => request.settle(timeoutError(request, timeoutMs)), timeoutMs);
      const handle = this.open.add(request);
      const publish = (ready: Payload) => this.outgoing.add(() => this.publish(request, handle, ready));
      if (payload instanceof Promise) payload.then(publish, (error: unknown) => request.settle(toApiError(error)));
      else publish(payload);
    });
  }

  private publish(request: OpenRequest, handle: number, { data, headers }: Payload): void {
    // The caller already has an error that says the request was not processed.
    if (!this.open.get(handle)) return;
    try {
      this.link.connection.publish(request.subject, data, { reply: `${this.inbox}.${handle}`, headers });
      request.isSent = true;
    } catch (error) {
      request.settle(toApiError(error));
    }
  }

  private take(answer: Msg): void {
    const request = this.open.get(Number(answer.subject.slice(this.inbox.length + 1)));
    if (!request) return;
    try {
      request.settle(isUnserved(answer) ? unserved(request) : answer);
    } catch (error) {
      request.settle(toApiError(error));
    }
  }
}

/** No-responders status of the server: the subject has no subscriber. */
function isUnserved(answer: Msg): boolean {
  return answer.data.length === 0 && readHeaders(answer)?.code === noResponders;
}

function unserved({ subject }: OpenRequest): ApiError {
  return unavailable(`No service instance is available for ${subject}. Try again in a moment.`);
}

/** Permission violation; its details are in the log only. */
function refused({ subject }: OpenRequest): ApiError {
  return unavailable(`${subject} is not available at the moment. Try again later.`);
}

function timeoutError({ subject, isSent }: OpenRequest, timeoutMs: number): ApiError {
  if (!isSent)
    return unavailable(
      'The bus did not send the request in time; the request was not processed. Try again in a moment.',
    );
  return timedOut(subject, timeoutMs);
}

/** Error for a broken connection: a sent request may have been processed; an unsent request was not. */
function broken({ subject, isSent }: OpenRequest): ApiError {
  if (!isSent)
    return unavailable('The connection to the bus broke; the request was not processed. Try again in a moment.');
  return new ApiError(
    'OperationTimeout',
    `The connection broke before ${subject} answered. The operation may have been done: check before you try again.`,
  );
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return unavailable('The bus cannot send the request at the moment. Try again in a moment.', error);
}
