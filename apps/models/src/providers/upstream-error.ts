/**
 * - `refused`: the request itself is at fault: no other provider is asked.
 * - `filtered`: the provider refuses the content.
 * - `busy`: the provider asks for fewer requests.
 * - `failed`: the provider cannot be reached, is misconfigured or fails.
 * - `slow`: the provider did not answer in time.
 * - `full`: it was not asked, because our own limits for it leave no room in time.
 */
export type UpstreamFailure = 'refused' | 'filtered' | 'busy' | 'failed' | 'slow' | 'full';

/** A provider gave no answer. Its message holds no key. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';

  constructor(
    readonly failure: UpstreamFailure,
    message: string,
    options?: ErrorOptions,
    /** Pause that a busy provider asks for. */
    readonly retryAfterMs?: number,
  ) {
    super(message, options);
  }
}
