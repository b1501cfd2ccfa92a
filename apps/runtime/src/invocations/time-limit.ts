import type { BotTarget } from '@parley/contracts/admin/targets';

export const maxInvocationMs = 120_000;
const maxRepeatedMs = 60_000;

/** Time limit of an attempt. A repeated one gets at most a minute, so that a slow bot does not hold its conversation for long. */
export function timeLimitMs({ timeoutMs }: Pick<BotTarget, 'timeoutMs'>, attempt: number): number {
  return Math.min(timeoutMs, attempt === 1 ? maxInvocationMs : maxRepeatedMs);
}
