import { ServerBusy, ServerRefused, ServerUnavailable } from '@parley/openai/server-errors';

/** Converts text to dense vectors. Safe for concurrent use: implementations queue and limit their own work. */
export interface Embedder {
  /** Model name. Vectors of different models are never mixed. */
  readonly model: string;
  /** Vector length; known after `ready()`. */
  readonly dimensions: number;
  /** Score that nonsense hardly reaches; undefined when the scores of the model are not calibrated. */
  readonly leastScore?: number;
  /** Loads the model or contacts the server once. Throws the same errors as `embed`. */
  ready(): Promise<void>;
  /** One unit vector per passage, in order. Throws EmbedderBusy, EmbedderRefused or EmbedderUnavailable. */
  embed(passages: string[], signal?: AbortSignal): Promise<Float32Array[]>;
  /** Unit vector of a search text, which some models embed otherwise than a passage. Throws the same errors. */
  embedQuery(query: string, signal?: AbortSignal): Promise<Float32Array>;
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
