import { createHash } from 'node:crypto';

/** State of a file as acknowledged: declared without content, with this content, or deleted. */
export type FileState = 'declared' | 'deleted' | Content;

export interface Content {
  sha256: string;
  marks: string[];
}

/** Object that clients change. */
export interface Promised<State> {
  /** Last acknowledged state. */
  state: State;
  /** States of unanswered attempts: each may have been applied, or may still be. */
  possible: State[];
  /** Milliseconds since the epoch. */
  acknowledgedAt?: number;
  /** Time of the last rejection, milliseconds since the epoch. */
  refusedAt?: number;
}

export interface PromisedFile extends Promised<FileState> {
  botId: string;
  id: string;
  index: boolean;
}

/** Undefined while no object of this name exists. */
export type Value = string | number | undefined;

/** By name, in the order of the first attempt. */
export type PromisedValues = Map<string, Promised<Value>>;

export interface PromisedTable {
  botId: string;
  id: string;
  rows: PromisedValues;
}

/** Conversation in which one client writes messages sequentially. The text of a message is its name. */
export interface PromisedConversation {
  botId: string;
  id: string;
  messages: PromisedValues;
  tags: PromisedValues;
  state: { name: string; entries: PromisedValues };
}

/** Ledger of acknowledged writes. The checker reads everything else from the platform. */
export class Ledger {
  readonly bots = new Set<string>();
  readonly tables: PromisedTable[] = [];
  readonly conversations: PromisedConversation[] = [];
  private readonly known = new Map<string, PromisedFile>();

  get files(): PromisedFile[] {
    return [...this.known.values()];
  }

  bot(botId: string): void {
    this.bots.add(botId);
  }

  declared(file: Pick<PromisedFile, 'botId' | 'id' | 'index'>): PromisedFile {
    const promised: PromisedFile = { ...file, state: 'declared', possible: [] };
    this.known.set(file.id, promised);
    return promised;
  }

  table(botId: string, id: string): PromisedTable {
    const table: PromisedTable = { botId, id, rows: new Map() };
    this.tables.push(table);
    return table;
  }

  conversation(botId: string, id: string, stateName: string): PromisedConversation {
    const state = { name: stateName, entries: new Map() };
    const conversation: PromisedConversation = { botId, id, messages: new Map(), tags: new Map(), state };
    this.conversations.push(conversation);
    return conversation;
  }

  /** Promise with this name; created empty if necessary. */
  of(values: PromisedValues, name: string): Promised<Value> {
    const promised = values.get(name) ?? { state: undefined, possible: [] };
    values.set(name, promised);
    return promised;
  }

  /** Records an attempt before the request is sent; call the result when it is acknowledged. */
  attempt<State>(thing: Promised<State>, state: State): () => void {
    thing.possible.push(state);
    return () => {
      thing.state = state;
      thing.acknowledgedAt = Date.now();
      forget(thing, state);
    };
  }

  /** Records that the platform rejected the attempt without processing it. */
  refused<State>(thing: Promised<State>, state: State): void {
    thing.refusedAt = Date.now();
    forget(thing, state);
  }
}

function forget<State>({ possible }: Promised<State>, state: State): void {
  possible.splice(possible.indexOf(state), 1);
}

/** Text with this number of paragraphs and a unique mark in each. */
export function document(name: string, paragraphs: number): { text: string; content: Content } {
  const marks = Array.from({ length: paragraphs }, (_, place) => `${name}x${place}x`);
  const text = marks.map((mark) => `The paragraph ${mark} tells of ships, quays and tides.`).join('\n\n');
  return { text, content: { sha256: sha256(text), marks } };
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
