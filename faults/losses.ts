import type { Failure } from './noted-requests';
import type { Replica } from './replica';

/** Whatever has reached a process and had no whole answer, and every answer but that nobody is there just now. */
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
  return `${count('answered')} told to come again, ${count('refused')} refused, ${resets} idle connections reset`;
}
