import { request } from '../api/request';

/** Work that is done in batches, one request each. It yields how far it is, and ends with its result. */
export type Run = AsyncGenerator<string, string>;

const maxPauseMs = 60_000;
const lookMs = 2_000;

interface CorrectedStorage {
  botId: string;
  before: { fileBytes: number; vectorBytes: number };
  after: { fileBytes: number; vectorBytes: number };
}

export async function* recountStorage(): Run {
  let checked = 0;
  const corrected: CorrectedStorage[] = [];
  let after: string | undefined;
  do {
    const batch = await post<{ checked: number; corrected: CorrectedStorage[]; next?: string }>(
      '/operator/files/storage/reconcile',
      { after },
    );
    checked += batch.checked;
    corrected.push(...batch.corrected);
    after = batch.next;
    yield `${checked} bots counted`;
  } while (after !== undefined);
  const list = corrected.map(
    ({ botId, before, after: right }) =>
      `${botId}: files ${before.fileBytes} to ${right.fileBytes} bytes, indexed ${before.vectorBytes} to ${right.vectorBytes}`,
  );
  return [`${checked} bots counted, ${corrected.length} counts corrected.`, ...list].join('\n');
}

export async function* fillNextModel(): Run {
  let refused = 0;
  for (;;) {
    const progress = await post<{
      model?: string;
      total: number;
      left: number;
      isComplete: boolean;
      refused: number;
      problem?: string;
      pauseMs?: number;
    }>('/operator/files/reindex', {});
    const { model, total, left, isComplete, problem, pauseMs } = progress;
    if (model === undefined)
      throw new Error('No next embedding model is configured: set NEXT_EMBEDDINGS_URL and restart Parley.');
    refused += progress.refused;
    if (isComplete)
      return `The index of ${model} is complete: ${total} files, ${refused} passages refused. Set EMBEDDINGS_URL, EMBEDDINGS_MODEL and EMBEDDINGS_API_KEY to the values of their NEXT_ variables, remove those, and restart Parley.`;
    yield `${model}: ${total - left} of ${total} files${problem ? `. ${problem}` : ''}`;
    if (pauseMs) await pause(Math.min(pauseMs, maxPauseMs));
  }
}

export async function* readOlderFiles(): Run {
  const path = '/operator/files/reindex/older-readers';
  for (;;) {
    const { left, refused, reading } = await post<{ left: number; refused: number; reading: number }>(path, {});
    if (left + refused + reading === 0) return 'All files are read by the readers of this version.';
    yield `${left} read and ${refused} refused files left, ${reading} being read`;
    await pause(lookMs);
  }
}

export async function* indexTableRows(): Run {
  let [rows, tables] = [0, 0];
  let after: object | undefined;
  do {
    const batch = await post<{ rows: number; tables: number; next?: object }>('/operator/tables/reindex', { after });
    rows += batch.rows;
    tables += batch.tables;
    after = batch.next;
    yield `${rows} rows of ${tables} tables`;
  } while (after);
  return `${rows} rows of ${tables} searchable tables wait to be indexed.`;
}

export async function* dropFormerModels(): Run {
  const dropped = new Set<string>();
  let after: string | undefined;
  do {
    const batch = await post<{ models: string[]; after?: string }>('/operator/files/reindex/drop-former', { after });
    batch.models.forEach((model) => dropped.add(model));
    after = batch.after;
    yield `${dropped.size} models`;
  } while (after !== undefined);
  return dropped.size > 0 ? `Dropped: ${[...dropped].join(', ')}.` : 'There were no former models.';
}

function post<T>(path: string, body: object): Promise<T> {
  return request<T>({ method: 'POST', path, body });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
