import type { ErrorBody } from '@parley/contracts/errors';
import { errorOf } from '../api/api-error';
import { currentSession } from '../api/session';
import type { ShownLine } from './queries';

/**
 * Lines of a bot from now on, until the signal aborts. `EventSource` sends no credential, so the stream of server-sent
 * events is read here. Throws an error with the message of the platform; returns when the server ends the stream.
 */
export async function followLogs(
  { workspaceId, botId }: { workspaceId: string; botId: string },
  onLine: (line: ShownLine) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(`/v1/admin/bots/${encodeURIComponent(botId)}/logs/stream`, {
    headers: { authorization: `Bearer ${currentSession()?.token ?? ''}`, 'x-workspace-id': workspaceId },
    signal,
  });
  if (!response.ok || !response.body) throw errorOf((await response.json()) as ErrorBody);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const events = (rest + read.value).split('\n\n');
    rest = events.pop() ?? '';
    for (const line of events.flatMap(dataOf)) onLine(line);
  }
}

/** Comments, which keep the connection open, have no data. */
function dataOf(event: string): ShownLine[] {
  const data = event.split('\n').filter((field) => field.startsWith('data: '));
  return data.length === 0
    ? []
    : [JSON.parse(data.map((field) => field.slice('data: '.length)).join('\n')) as ShownLine];
}
