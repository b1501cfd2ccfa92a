import type { Failure } from './recorded-requests';
import type { Replica } from './replica';

/** Lost requests: processed without a complete answer, or failed with another error than "no instance available". */
export function isLoss({ kind, outcome, requestId }: Failure, processes: Replica[]): boolean {
  if (kind === 'answered') return !/^503 .*No service instance is available/.test(outcome);
  return kind === 'broken' && wasSeen(requestId, processes);
}

export function wasSeen(requestId: string, processes: Replica[]): boolean {
  return processes.some((replica) => replica.hasSeen(requestId));
}

export function describeFailures(failures: Failure[], processes: Replica[]): string {
  const count = (kind: Failure['kind']) => failures.filter((failure) => failure.kind === kind).length;
  const resets = failures.filter(({ kind, requestId }) => kind === 'broken' && !wasSeen(requestId, processes)).length;
  return `${count('answered')} answered with an error, ${count('refused')} refused, ${resets} idle connections reset`;
}
