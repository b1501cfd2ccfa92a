import { createHash } from 'node:crypto';

/** What a client knows of a file: nothing was uploaded yet, this content was accepted, or it was deleted. */
export type FileState = 'declared' | 'deleted' | Content;

export interface Content {
  sha256: string;
  /** Words that stand in the content once each. */
  marks: string[];
}

/** Something that clients change. */
export interface Promised<State> {
  /** What was acknowledged last. */
  state: State;
  /** What was asked for and never answered: it may have happened, or happen yet. */
  possible: State[];
  /** By the clock of `Date.now()`. */
  acknowledgedAt?: number;
  /** When it was said last that nothing had been done. */
  refusedAt?: number;
}

export interface PromisedFile extends Promised<FileState> {
  botId: string;
  id: string;
  index: boolean;
}

/** Of something that has a name: undefined as long as there is none of this name. */
export type Value = string | number | undefined;

/** By name, in the order in which they were first asked for. */
export type PromisedValues = Map<string, Promised<Value>>;

/** A table with the columns `name` and `value`. */
export interface PromisedTable {
  botId: string;
  id: string;
  rows: PromisedValues;
}

/** A conversation in which one client writes, one message after the other. Its messages are named by their texts. */
export interface PromisedConversation {
  botId: string;
  id: string;
  messages: PromisedValues;
  tags: PromisedValues;
  /** What is merged into its state. */
  state: { name: string; entries: PromisedValues };
}

/** What the platform has acknowledged to its clients. Nothing else is written down: the checker asks the platform. */
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

  /** The promise of this name, which is none as long as nothing was acknowledged. */
  of(values: PromisedValues, name: string): Promised<Value> {
    const promised = values.get(name) ?? { state: undefined, possible: [] };
    values.set(name, promised);
    return promised;
  }

  /** Call before the request is sent. Call what it gives when the request was acknowledged. */
  attempt<State>(thing: Promised<State>, state: State): () => void {
    thing.possible.push(state);
    return () => {
      thing.state = state;
      thing.acknowledgedAt = Date.now();
      forget(thing, state);
    };
  }

  /** Call when the answer to an attempt was that nothing has been done. */
  refused<State>(thing: Promised<State>, state: State): void {
    thing.refusedAt = Date.now();
    forget(thing, state);
  }
}

/** One attempt of perhaps several. */
function forget<State>({ possible }: Promised<State>, state: State): void {
  possible.splice(possible.indexOf(state), 1);
}

/** A text of so many paragraphs, with a mark in each. */
export function document(name: string, paragraphs: number): { text: string; content: Content } {
  const marks = Array.from({ length: paragraphs }, (_, place) => `${name}x${place}x`);
  const text = marks.map((mark) => `The paragraph ${mark} tells of ships, quays and tides.`).join('\n\n');
  return { text, content: { sha256: sha256(text), marks } };
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
