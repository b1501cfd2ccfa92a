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

/** The server asks to slow down (429, 503): backpressure, not failure. */
export class EmbedderBusy extends Error {
  override readonly name = 'EmbedderBusy';
  constructor(
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/** The server will never accept this (bad key, unknown model, input too long): the message is its answer, shortened. */
export class EmbedderRefused extends Error {
  override readonly name = 'EmbedderRefused';
}

/** No usable answer (5xx, timeout, connection refused, garbage): worth another attempt later. */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
}
