import type { Conversation, Message, Signals, User } from '@botpress/chat';
import { EventSourceParserStream } from 'eventsource-parser/stream';

/** Signals of streamed messages, which the types of the public client lack. */
interface StreamSignals {
  message_stream_delta: { streamId: string; userId: string; createdAt: string; sequence: number; delta: string };
  message_stream_complete: { streamId: string; message: Message };
  message_stream_abort: { streamId: string };
}

type AllSignals = Omit<Signals, 'participant_added' | 'participant_removed' | 'unknown'> & StreamSignals;
export type Signal = { [K in keyof AllSignals]: { type: K; data: AllSignals[K] } }[keyof AllSignals];
export type Payload = Message['payload'];
export interface MessagePage {
  messages: Message[];
  meta: { nextToken?: string };
}

/** File that was declared, before its content is uploaded. */
export interface DeclaredFile {
  url: string;
  uploadUrl: string;
  contentType: string;
}

export interface NumberedSignal {
  /** Undefined for the pings that keep the stream open. */
  signal?: Signal;
  /** Position of the signal, to continue a stream after it. */
  id?: string;
}

export class ChatError extends Error {
  override readonly name = 'ChatError';

  /** @param status of the response; 0 when there was none */
  constructor(
    message: string,
    readonly status: number,
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status >= 500 || (this.status === 429 && this.retryAfterMs > 0);
  }
}

/**
 * Client of the chat endpoint of one bot. Its types are those of `@botpress/chat`, whose program is fourteen times as
 * large as a widget may be.
 */
export class ChatApi {
  constructor(
    private readonly url: string,
    private readonly userKey?: string,
  ) {}

  withKey(userKey: string): ChatApi {
    return new ChatApi(this.url, userKey);
  }

  createUser(): Promise<{ user: User; key: string }> {
    return this.send('POST', '/users', {});
  }

  getOrCreateUser(): Promise<{ user: User }> {
    return this.send('POST', '/users/get-or-create', {});
  }

  createConversation(): Promise<{ conversation: Conversation }> {
    return this.send('POST', '/conversations', {});
  }

  listConversations(): Promise<{ conversations: Conversation[] }> {
    return this.send('GET', '/conversations');
  }

  /** Newest first. */
  listMessages(conversationId: string, nextToken?: string): Promise<MessagePage> {
    const query = nextToken ? `?nextToken=${encodeURIComponent(nextToken)}` : '';
    return this.send('GET', `/conversations/${encodeURIComponent(conversationId)}/messages${query}`);
  }

  /** @param id of this message on the client: a repeated request with it sends the message once */
  createMessage(
    conversationId: string,
    payload: Payload,
    metadata: Record<string, unknown>,
    id: string,
  ): Promise<{ message: Message }> {
    return this.send('POST', '/messages', { conversationId, payload, metadata }, { 'idempotency-key': id });
  }

  createFile(conversationId: string, { name, size, type }: File): Promise<{ file: DeclaredFile }> {
    return this.send('POST', '/files', { conversationId, name, size, contentType: type || undefined });
  }

  async createEvent(conversationId: string, payload: Record<string, unknown>): Promise<void> {
    await this.send('POST', '/events', { conversationId, payload });
  }

  /** Opens the stream before it resolves, so that a list requested afterwards misses nothing. Throws ChatError. */
  async listen(conversationId: string, after: string | undefined, signal: AbortSignal) {
    const path = `/conversations/${encodeURIComponent(conversationId)}/listen`;
    const response = await this.request(path, { signal, headers: after ? { 'last-event-id': after } : {} });
    const events = response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    return signalsOf(events);
  }

  private async send<T>(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
    const response = await this.request(path, {
      method,
      headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
    return (await response.json()) as T;
  }

  private async request(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const headers = { ...init.headers, ...(this.userKey ? { 'x-user-key': this.userKey } : {}) };
    return respond(`${this.url}${path}`, { ...init, headers });
  }
}

/**
 * Throws ChatError. `fetch` tells nothing about the progress of an upload.
 * @param progressed called with the part that was sent, from 0 to 1
 */
export function upload(file: File, { uploadUrl, contentType }: DeclaredFile, progressed: (part: number) => void) {
  return new Promise<void>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', uploadUrl);
    request.setRequestHeader('content-type', contentType);
    request.upload.onprogress = ({ loaded, total }) => progressed(loaded / total);
    request.onerror = () => reject(unreachable());
    request.onload = () =>
      request.status < 300 ? resolve() : reject(new ChatError(messageIn(request), request.status));
    request.send(file);
  });
}

function messageIn({ status, responseText }: XMLHttpRequest): string {
  try {
    return (JSON.parse(responseText) as { message: string }).message;
  } catch {
    // Another server answered, such as a proxy.
    return unexplained(status);
  }
}

/** Throws ChatError without a response, or for the response of an error. */
export async function respond(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, credentials: 'omit' }).catch((error: unknown) => {
    throw init?.signal?.aborted ? error : unreachable();
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { message?: string };
  const retryAfter = Number(response.headers.get('retry-after') ?? 0);
  throw new ChatError(body.message ?? unexplained(response.status), response.status, retryAfter * 1000);
}

function unreachable(): ChatError {
  return new ChatError('The server cannot be reached.', 0);
}

function unexplained(status: number): string {
  return `The server answered ${status}.`;
}

async function* signalsOf(events: ReadableStream<{ id?: string; data: string }>): AsyncGenerator<NumberedSignal> {
  const reader = events.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value.data === 'ping' ? {} : { signal: JSON.parse(value.data) as Signal, id: value.id };
  }
}
