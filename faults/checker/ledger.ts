import { createHash } from 'node:crypto';

/** What a client knows of a file: nothing was uploaded yet, this content was accepted, or it was deleted. */
export type FileState = 'declared' | 'deleted' | Content;

export interface Content {
  sha256: string;
  /** Words that stand in the content once each. */
  marks: string[];
}

export interface PromisedFile {
  botId: string;
  id: string;
  index: boolean;
  /** What was acknowledged last. */
  state: FileState;
  /** What was asked for and never answered: it may have happened. */
  possible: FileState[];
}

/** What the platform has acknowledged to its clients. Nothing else is written down: the checker asks the platform. */
export class Ledger {
  readonly bots = new Set<string>();
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

  /** Call before the request is sent. Call what it gives when the request was acknowledged. */
  attempt(file: PromisedFile, state: FileState): () => void {
    file.possible.push(state);
    return () => {
      file.state = state;
      file.possible = file.possible.filter((other) => other !== state);
    };
  }
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
