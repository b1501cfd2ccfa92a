import type { Msg } from 'nats';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import type { NatsLink } from './nats-connection';
import type { NatsOutgoing } from './nats-outgoing';
import { type Payload, readHeaders } from './nats-payloads';
import { timedOut } from './transport';

const noResponders = 503;

/** A request until its answer, its deadline or the loss of the connection settles it. */
interface OpenRequest {
  subject: string;
  isSent: boolean;
  settle: (outcome: Msg | ApiError) => void;
}

/** Requests under way and the inbox for their answers. The client's own way makes an error with its stack for each. */
export class NatsRequests {
  private readonly inbox: string;
  private readonly open = new Map<string, OpenRequest>();
  private count = 0;

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
    link.onLost(() => this.open.forEach((request) => request.settle(broken(request))));
    link.onRefused(({ subject }) => {
      for (const request of this.open.values()) if (request.subject === subject) request.settle(refused(request));
    });
  }

  /** @param payload is made while the deadline runs already. */
  send(subject: string, payload: Promise<Payload>, timeoutMs: number): Promise<Msg> {
    return new Promise((resolve, reject) => {
      const reply = `${this.inbox}.${(this.count += 1).toString(36)}`;
      const request: OpenRequest = {
        subject,
        isSent: false,
        settle: (outcome) => {
          clearTimeout(deadline);
          this.open.delete(reply);
          if (outcome instanceof ApiError) reject(outcome);
          else resolve(outcome);
        },
      };
      const deadline = setTimeout(() => request.settle(late(request, timeoutMs)), timeoutMs);
      this.open.set(reply, request);
      payload.then(
        (ready) => this.outgoing.add(() => this.publish(request, reply, ready)),
        (error: unknown) => request.settle(toApiError(error)),
      );
    });
  }

  private publish(request: OpenRequest, reply: string, { data, headers }: Payload): void {
    // Settled meanwhile: whoever asked has been told that nothing was done.
    if (!this.open.has(reply)) return;
    try {
      this.link.connection.publish(request.subject, data, { reply, headers });
      request.isSent = true;
    } catch (error) {
      request.settle(toApiError(error));
    }
  }

  private take(answer: Msg): void {
    const request = this.open.get(answer.subject);
    if (!request) return;
    try {
      request.settle(isUnserved(answer) ? unserved(request) : answer);
    } catch (error) {
      request.settle(toApiError(error));
    }
  }
}

/** The server says so when a subject has no subscriber. */
function isUnserved(answer: Msg): boolean {
  return answer.data.length === 0 && readHeaders(answer)?.code === noResponders;
}

function unserved({ subject }: OpenRequest): ApiError {
  return unavailable(`Nobody answers ${subject} just now. Try again in a moment.`);
}

/** The log says what is wrong. */
function refused({ subject }: OpenRequest): ApiError {
  return unavailable(`${subject} cannot be asked just now. Try again later.`);
}

function late({ subject, isSent }: OpenRequest, timeoutMs: number): ApiError {
  if (!isSent) return unavailable('The bus did not take the request in time. Try again in a moment.');
  return timedOut(subject, timeoutMs);
}

/** A request that was on its way may have been done; one that was not yet sent was not. */
function broken({ subject, isSent }: OpenRequest): ApiError {
  if (!isSent) return unavailable('The connection to the bus broke. Try again in a moment.');
  return new ApiError(
    'OperationTimeout',
    `The connection broke before ${subject} answered. It may have done the work.`,
  );
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return unavailable('The bus does not carry the request just now. Try again in a moment.', error);
}
