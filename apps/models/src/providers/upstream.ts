export interface UpstreamRequest {
  /** Below `/v1/`. */
  path: string;
  method?: 'GET' | 'POST';
  body?: object;
  /** In place of `body`. */
  form?: FormData;
  signal: AbortSignal;
  /** Milliseconds until the first byte of the answer; the timeout of the provider if absent. */
  firstByteMs?: number;
}

/** Answer of a provider that has begun with a success. */
export interface UpstreamAnswer {
  isStream: boolean;
  /** Text of a JSON answer. Throws UpstreamError, also for a longer one. */
  text(maxLength: number): Promise<string>;
  /** Data of the events of a stream, in batches as they arrive, until `[DONE]` or its end. Throws UpstreamError. */
  events(): AsyncGenerator<string[]>;
  /** Bytes of any answer as they arrive. Throws UpstreamError, also for more of them. */
  chunks(maxBytes: number): AsyncGenerator<Buffer>;
}
