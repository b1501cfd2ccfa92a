import type { ClientResponses, Conversation, Message } from '@botpress/chat';
import { ChatApi, type Payload, type Signal } from './chat-api';
import { payloadOf } from './file-payload';
import { ChatError, upload } from './requests';
import type { VisitorMemory } from './visitor';

type MessagePage = ClientResponses['listMessages'];

/** Message of the visitor that the server has not confirmed. */
export interface PendingMessage {
  id: string;
  /** Absent until the file is uploaded. */
  payload?: Payload;
  file?: File;
  /** Part of the file that was uploaded, from 0 to 1. */
  uploadedPart?: number;
  metadata: Record<string, unknown>;
  /** Why it was not sent; the visitor may send it again. */
  problem?: string;
}

/** Message that the bot is writing. */
export interface StreamedText {
  id: string;
  text: string;
}

export interface ChatState {
  userId?: string;
  conversationId?: string;
  /** Oldest first. */
  messages: readonly Message[];
  pending: readonly PendingMessage[];
  streams: readonly StreamedText[];
  conversations: readonly Conversation[];
  isTyping: boolean;
  isLoading: boolean;
  /** False while the connection is lost and being made again. */
  isOnline: boolean;
  hasEarlier: boolean;
  problem?: string;
}

export interface ChatListeners {
  changed: () => void;
  /** @param id undefined before the first message of a conversation */
  conversationChanged: (id: string | undefined) => void;
  messageArrived: (message: Message) => void;
  eventArrived: (payload: Record<string, unknown>) => void;
}

const empty: Pick<ChatState, 'messages' | 'pending' | 'streams' | 'isTyping' | 'hasEarlier'> = {
  messages: [],
  pending: [],
  streams: [],
  isTyping: false,
  hasEarlier: false,
};
const firstRetryMs = 500;
const longestRetryMs = 10_000;
/** Requests of one message before the visitor is asked: they take about two minutes. */
const sendAttempts = 20;
const typingMs = 30_000;
/** Pages read after a lost connection, before older messages wait for the visitor to ask for them. */
const missedPages = 10;

/** Conversation of a visitor with a bot: sends, listens, and catches up after a lost connection. */
export class Chat {
  private state: ChatState = { ...empty, conversations: [], isLoading: false, isOnline: true };
  private earlierToken?: string;
  private listening = new AbortController();
  private typingTimer?: ReturnType<typeof setTimeout>;
  private readonly api: ChatApi;
  /** Single flight of the first message's user and conversation. */
  private starting?: Promise<string>;

  constructor(
    url: string,
    private readonly memory: VisitorMemory,
    private readonly listeners: ChatListeners,
  ) {
    this.api = new ChatApi(url, memory.current.userKey);
  }

  get current(): ChatState {
    return this.state;
  }

  /** Continues the conversation that the browser remembers. A new visitor has none before the first message. */
  async resume(): Promise<void> {
    const { userKey, conversationId } = this.memory.current;
    if (!userKey) return;
    this.change({ isLoading: true });
    try {
      const { user } = await this.patiently(() => this.getUser());
      this.change({ userId: user.id });
      if (conversationId) await this.open(conversationId);
    } catch (error) {
      this.meetProblem(error);
    } finally {
      this.change({ isLoading: false });
    }
  }

  /** Leaves the current conversation; the next message starts another. */
  startAnew(): void {
    this.leave();
    this.memory.remember({ conversationId: undefined });
    this.change({ ...empty, conversationId: undefined, problem: undefined });
  }

  async open(conversationId: string): Promise<void> {
    this.leave();
    this.memory.remember({ conversationId });
    this.change({ ...empty, conversationId, problem: undefined, isLoading: true });
    await new Promise<void>((settled) => void this.listen(conversationId, settled));
    this.change({ isLoading: false });
  }

  leave(): void {
    this.listening.abort();
    this.listening = new AbortController();
    clearTimeout(this.typingTimer);
  }

  async loadConversations(): Promise<void> {
    if (!this.state.userId) return;
    try {
      const { conversations } = await this.api.call((client, key) => client.listConversations(key));
      this.change({ conversations });
    } catch (error) {
      this.meetProblem(error);
    }
  }

  async loadEarlier(): Promise<void> {
    const { conversationId } = this.state;
    if (!conversationId || !this.earlierToken) return;
    try {
      const { messages, meta } = await this.listMessages(conversationId, this.earlierToken);
      this.earlierToken = meta.nextToken;
      this.add(messages);
      this.change({ hasEarlier: meta.nextToken !== undefined });
    } catch (error) {
      this.meetProblem(error);
    }
  }

  /** @param label text that the visitor saw, where it differs from what is sent */
  async send(text: string, label?: string): Promise<void> {
    await this.deliver(this.prepare({ payload: { type: 'text', text } }, label && label !== text ? { label } : {}));
  }

  /** One after the other, so that the messages have the order of the files. */
  async sendFiles(files: readonly File[]): Promise<void> {
    const messages = files.map((file) => this.prepare({ file, uploadedPart: 0 }));
    for (const message of messages) await this.deliver(message);
  }

  async sendAgain(id: string): Promise<void> {
    const message = this.state.pending.find((pending) => pending.id === id);
    if (message) await this.deliver(message);
  }

  /** Forgets a message that was not sent. */
  discard(id: string): void {
    this.change({ pending: this.state.pending.filter((message) => message.id !== id) });
  }

  /** Sends a custom event to the bot. Throws ChatError. */
  async sendEvent(payload: Record<string, unknown>): Promise<void> {
    const conversationId = await this.started();
    await this.api.call((client, key) => client.createEvent({ conversationId, payload, ...key }));
  }

  private prepare(content: Pick<PendingMessage, 'payload' | 'file' | 'uploadedPart'>, metadata = {}): PendingMessage {
    const id = crypto.randomUUID();
    const message = { ...content, id, metadata: { ...metadata, clientMessageId: id } };
    this.change({ pending: [...this.state.pending, message], problem: undefined });
    return message;
  }

  private async deliver(message: PendingMessage): Promise<void> {
    const { id, metadata } = message;
    this.changePending(id, { problem: undefined });
    try {
      const conversationId = await this.started();
      const payload = message.payload ?? (await this.upload(conversationId, id, message.file!));
      const sent = await this.patiently(
        () => this.api.call((client, key) => client.createMessage({ conversationId, payload, metadata, ...key })),
        sendAttempts,
      );
      this.add([sent.message]);
    } catch (error) {
      this.changePending(id, { problem: messageOf(error) });
    }
  }

  /** Throws ChatError. */
  private async upload(conversationId: string, id: string, file: File): Promise<Payload> {
    const declared = await this.patiently(() => this.api.declareFile(conversationId, file), sendAttempts);
    await this.patiently(
      () => upload(file, declared, (uploadedPart) => this.changePending(id, { uploadedPart })),
      sendAttempts,
    );
    const payload = payloadOf(file, declared.url);
    this.changePending(id, { payload });
    return payload;
  }

  /** Id of the conversation; the first call makes user and conversation where there are none. */
  private async started(): Promise<string> {
    this.starting ??= this.start().finally(() => (this.starting = undefined));
    return this.starting;
  }

  private async start(): Promise<string> {
    if (this.state.conversationId) return this.state.conversationId;
    if (!this.state.userId) {
      const { userKey } = this.memory.current;
      const { user, key } = userKey
        ? { ...(await this.patiently(() => this.getUser(), sendAttempts)), key: userKey }
        : await this.patiently(() => this.api.call((client) => client.createUser({})), sendAttempts);
      this.api.userKey = key;
      this.memory.remember({ userKey: key });
      this.change({ userId: user.id });
    }
    const { conversation } = await this.patiently(
      () => this.api.call((client, key) => client.createConversation(key)),
      sendAttempts,
    );
    this.memory.remember({ conversationId: conversation.id });
    this.change({ conversationId: conversation.id, conversations: [conversation, ...this.state.conversations] });
    // Listens before the first message is sent, so that a streamed answer is seen from its beginning.
    await new Promise<void>((settled) => void this.listen(conversation.id, settled));
    return conversation.id;
  }

  /**
   * Listens until the conversation is left, and connects again after a loss. Each time, what was missed is fetched after
   * the stream is open.
   * @param settled called after the first attempt: a message is sent also while nothing can be heard
   */
  private async listen(conversationId: string, settled: () => void): Promise<void> {
    const { signal } = this.listening;
    signal.addEventListener('abort', settled);
    let failures = 0;
    const opened = async () => {
      await this.catchUp(conversationId, signal);
      failures = 0;
      if (!signal.aborted) this.change({ isOnline: true });
      settled();
    };
    const received = (one: Signal) => signal.aborted || this.receive(one);
    while (!signal.aborted) {
      try {
        await this.api.listen(conversationId, { opened, received }, signal);
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof ChatError && !error.isTemporary) {
          this.meetProblem(error);
          break;
        }
      }
      if (signal.aborted) break;
      // The message of a stream has the part that nobody heard.
      this.change({ isOnline: false, streams: [] });
      settled();
      failures += 1;
      await pause(retryMs(failures), signal);
    }
    settled();
  }

  /** Reads the newest messages, as far back as those that are there already. */
  private async catchUp(conversationId: string, signal: AbortSignal): Promise<void> {
    const known = new Set(this.state.messages.map(({ id }) => id));
    let token: string | undefined;
    for (let page = 0; page < (known.size > 0 ? missedPages : 1); page += 1) {
      const { messages, meta }: MessagePage = await this.listMessages(conversationId, token);
      if (signal.aborted) return;
      this.add(messages);
      token = meta.nextToken;
      if (!token || messages.some((message) => known.has(message.id))) break;
    }
    if (known.size === 0) {
      this.earlierToken = token;
      this.change({ hasEarlier: token !== undefined });
    }
  }

  private getUser(): Promise<ClientResponses['getOrCreateUser']> {
    return this.api.call((client, key) => client.getOrCreateUser(key));
  }

  /** Newest first. */
  private listMessages(conversationId: string, nextToken?: string): Promise<MessagePage> {
    return this.api.call((client, key) => client.listMessages({ conversationId, nextToken, ...key }));
  }

  private receive({ type, data }: Signal): void {
    switch (type) {
      case 'message_created':
        this.arrive(data);
        break;
      case 'message_deleted':
        this.change({ messages: this.state.messages.filter((message) => message.id !== data.id) });
        break;
      case 'message_stream_delta':
        this.append(data.streamId, data.delta);
        break;
      case 'message_stream_complete':
        this.endStream(data.streamId);
        this.arrive(data.message);
        break;
      case 'message_stream_abort':
        this.endStream(data.streamId);
        break;
      case 'event_created':
        if (data.userId === this.state.userId) break;
        if (data.payload['type'] === 'typing') this.showTyping(Number(data.payload['timeoutMs'] ?? typingMs));
        else this.listeners.eventArrived(data.payload);
        break;
    }
  }

  private arrive(message: Message): void {
    const isNew = !this.state.messages.some(({ id }) => id === message.id);
    this.add([message]);
    if (!isNew) return;
    if (message.userId !== this.state.userId) this.showTyping(0);
    this.listeners.messageArrived(message);
  }

  private append(id: string, delta: string): void {
    this.showTyping(0);
    const { streams } = this.state;
    const known = streams.find((stream) => stream.id === id);
    const text = `${known?.text ?? ''}${delta}`;
    this.change({ streams: [...streams.filter((stream) => stream !== known), { id, text }] });
  }

  private endStream(id: string): void {
    this.change({ streams: this.state.streams.filter((stream) => stream.id !== id) });
  }

  /** Adds messages in the order of the conversation. A confirmed message is no longer pending. */
  private add(messages: readonly Message[]): void {
    const byId = new Map([...this.state.messages, ...messages].map((message) => [message.id, message]));
    const sorted = [...byId.values()].sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id));
    const confirmed = new Set(messages.map(({ metadata }) => metadata?.['clientMessageId'] as unknown));
    this.change({ messages: sorted, pending: this.state.pending.filter(({ id }) => !confirmed.has(id)) });
  }

  private changePending(id: string, change: Partial<PendingMessage>): void {
    this.change({
      pending: this.state.pending.map((message) => (message.id === id ? { ...message, ...change } : message)),
    });
  }

  private showTyping(forMs: number): void {
    clearTimeout(this.typingTimer);
    const isTyping = forMs > 0;
    if (isTyping) this.typingTimer = setTimeout(() => this.change({ isTyping: false }), Math.min(forMs, typingMs));
    if (isTyping !== this.state.isTyping) this.change({ isTyping });
  }

  /** Repeats a request that may succeed later. Throws ChatError. */
  private async patiently<T>(request: () => Promise<T>, attempts = Infinity): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof ChatError) || !error.isTemporary || failures >= attempts) throw error;
        await pause(Math.max(retryMs(failures), error.retryAfterMs), this.listening.signal);
      }
    }
  }

  /** A key or conversation that is gone is forgotten: the next message starts anew. */
  private meetProblem(error: unknown): void {
    const isGone = error instanceof ChatError && [401, 403, 404].includes(error.status);
    if (isGone) {
      this.memory.forget();
      this.leave();
      this.change({ ...empty, conversationId: undefined, userId: undefined });
    } else {
      this.change({ problem: messageOf(error) });
    }
  }

  private change(change: Partial<ChatState>): void {
    const { conversationId } = this.state;
    this.state = { ...this.state, ...change };
    this.listeners.changed();
    if (this.state.conversationId !== conversationId) this.listeners.conversationChanged(this.state.conversationId);
  }
}

function retryMs(failures: number): number {
  const longest = Math.min(firstRetryMs * 2 ** (failures - 1), longestRetryMs);
  return longest * (0.5 + Math.random() / 2);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
