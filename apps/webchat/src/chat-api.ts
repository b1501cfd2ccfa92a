import type { axios, Client, Message, SignalListener, Signals } from '@botpress/chat';
import type * as ChatPackage from './public-client';
import { ChatError, type DeclaredFile, declareFile, failed, unexplained, unreachable } from './requests';

/** Signals of streamed messages, which the public client passes on as unknown ones. */
interface StreamSignals {
  message_stream_delta: { streamId: string; userId: string; createdAt: string; sequence: number; delta: string };
  message_stream_complete: { streamId: string; message: Message };
  message_stream_abort: { streamId: string };
}

const knownSignals = ['message_created', 'message_deleted', 'event_created'] as const;
type AllSignals = Pick<Signals, (typeof knownSignals)[number]> & StreamSignals;
export type Signal = { [K in keyof AllSignals]: { type: K; data: AllSignals[K] } }[keyof AllSignals];
export type Payload = Message['payload'];

export interface StreamListeners {
  /** Signals wait until it is settled. When it throws, the stream is closed. */
  opened: () => Promise<void>;
  received: (signal: Signal) => void;
}

/** Address of the module of the public client, from that of the script. */
declare const PARLEY_CLIENT: string;

declare global {
  /** Named by the types of the client, which would all be `any` without it. */
  interface Buffer {
    readonly existsInNodeOnly: never;
  }
}

interface UserKey {
  'x-user-key': string;
}

/** The client does not pass on when a request may be repeated. */
const rateLimitedMs = 1_000;
let failures = 0;
/** Single flight. */
let loading: Promise<typeof ChatPackage> | undefined;

/** The public client, a module of its own beside the script. Throws ChatError. */
export function loadClient(): Promise<typeof ChatPackage> {
  loading ??= importClient().then(adapted, () => {
    failures += 1;
    loading = undefined;
    throw unreachable();
  });
  return loading;
}

function importClient(): Promise<typeof ChatPackage> {
  const url = new URL(PARLEY_CLIENT, import.meta.url);
  // Browsers before 2026 import no address again that has failed once.
  if (failures > 0) url.search = `attempt=${failures}`;
  return import(/* @vite-ignore */ url.href) as Promise<typeof ChatPackage>;
}

function adapted(chat: typeof ChatPackage): typeof ChatPackage {
  const { defaults } = chat.axios.default;
  // That cookie, and the header made of it, are a secret between the page and its own server.
  defaults.xsrfCookieName = undefined;
  defaults.transformRequest = [addIdempotencyKey, defaults.transformRequest!].flat();
  return chat;
}

/** Idempotency: a message that is sent again is stored once. The client has no option for it. */
function addIdempotencyKey(body: unknown, headers?: axios.AxiosRequestHeaders): unknown {
  const id = (body as Partial<Message> | undefined)?.metadata?.['clientMessageId'] as string | undefined;
  if (id) Object.assign(headers!, { 'idempotency-key': id });
  return body;
}

/** Event of a stream that could not be opened. */
interface StreamFailure extends Partial<Pick<Response, 'status' | 'headers'>> {
  target: EventSource;
}

/** Chat endpoint of one bot, by the public client. */
export class ChatApi {
  private client?: Client;

  constructor(
    private readonly url: string,
    public userKey?: string,
  ) {}

  /** Throws ChatError. */
  async call<T>(request: (client: Client, key: UserKey) => Promise<T>): Promise<T> {
    const chat = await loadClient();
    this.client ??= new chat.Client({ apiUrl: this.url });
    try {
      return await request(this.client, this.key);
    } catch (error) {
      throw error instanceof ChatError ? error : chatErrorOf(error, chat);
    }
  }

  /** Throws ChatError. */
  declareFile(conversationId: string, file: File): Promise<DeclaredFile> {
    return declareFile(this.url, { ...this.key }, conversationId, file);
  }

  /** Listens until the connection is lost or `stopping` is aborted. Throws ChatError when there is no connection. */
  async listen(conversationId: string, { opened, received }: StreamListeners, stopping: AbortSignal): Promise<void> {
    const listener = await this.call((client, key) =>
      client.listenConversation({ id: conversationId, ...key }).catch(giveUp),
    );
    const ready = opened();
    // A failure of `ready` is thrown below.
    onSignal(
      listener,
      (signal) =>
        void ready.then(
          () => received(signal),
          () => undefined,
        ),
    );
    const ended = endOf(listener, stopping);
    try {
      await ready;
      await ended;
    } finally {
      await listener.disconnect();
    }
  }

  private get key(): UserKey {
    return { 'x-user-key': this.userKey ?? '' };
  }
}

/** The client leaves a stream that failed to its event source, which would connect again by itself, and for ever. */
function giveUp({ target, status, headers }: StreamFailure): never {
  target.close();
  throw status && headers ? failed({ status, headers }) : unreachable();
}

function onSignal(listener: SignalListener, received: (signal: Signal) => void): void {
  for (const type of knownSignals) listener.on(type, (data) => received({ type, data } as Signal));
  // A ping is no JSON.
  listener.on('unknown', (data) => String(data).startsWith('{') && received(JSON.parse(String(data)) as Signal));
}

function endOf(listener: SignalListener, stopping: AbortSignal): Promise<void> {
  return new Promise((ended) => {
    listener.on('error', () => ended());
    stopping.addEventListener('abort', () => ended());
    if (stopping.aborted) ended();
  });
}

function chatErrorOf(error: unknown, { isApiError, ChatClientError, ChatHTTPError }: typeof ChatPackage): ChatError {
  // Without an answer of the server, the client makes up an error of this type.
  if (isApiError(error) && error.type !== 'Unknown') {
    return new ChatError(error.message, error.code, error.type === 'RateLimited' ? rateLimitedMs : 0);
  }
  const cause = error instanceof ChatClientError ? error.cause() : undefined;
  return cause instanceof ChatHTTPError && cause.status
    ? new ChatError(unexplained(cause.status), cause.status, rateLimitedMs)
    : unreachable();
}
