import { ServerBusy, ServerRefused, ServerUnavailable } from '@parley/openai/server-errors';

/** Turns text into dense vectors. Safe to call from many jobs at once: it queues and bounds its own work. */
export interface Embedder {
  /** Name of the model: vectors of two models are never mixed. */
  readonly model: string;
  /** Length of every vector; known after `ready()`. */
  readonly dimensions: number;
  /** Loads the model or reaches the server once. Throws what `embed` would throw. */
  ready(): Promise<void>;
  /** One vector of unit length for each text, in order. Throws EmbedderBusy, EmbedderRefused or EmbedderUnavailable. */
  embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}

export class EmbedderBusy extends ServerBusy {
  override readonly name = 'EmbedderBusy';
}

export class EmbedderRefused extends ServerRefused {
  override readonly name = 'EmbedderRefused';
}

export class EmbedderUnavailable extends ServerUnavailable {
  override readonly name = 'EmbedderUnavailable';
}
