import { setTimeout as sleep } from 'node:timers/promises';
import { files } from '@parley/contracts/files';
import type { RowPlace } from '@parley/contracts/tables/reindex';
import { tables } from '@parley/contracts/tables/tables';
import { CommandFailed } from './command-failed';
import type { Operator } from './operator';

const maxPauseMs = 60_000;

/** Until the next model has everything, with a line for each step. Begun again after a stop it goes on where it was. */
export async function reindex(operator: Operator, write: (text: string) => void): Promise<string> {
  let refused = 0;
  for (;;) {
    const progress = await operator.call(files.reindex.advance, {});
    const { model, total, left, isComplete, problem, pauseMs } = progress;
    if (model === undefined) {
      throw new CommandFailed('There is no next embedding model: set NEXT_EMBEDDINGS_URL and start Parley with it.');
    }
    refused += progress.refused;
    show(write, `${model}: ${total - left} of ${total} files${problem ? `. ${problem}` : ''}`);
    if (isComplete) return `\n${summary(model, refused)}`;
    if (pauseMs) await sleep(Math.min(pauseMs, maxPauseMs));
  }
}

/** Has the rows of all searchable tables indexed again, or those of one bot. Safe to repeat after a stop. */
export async function reindexTables(
  operator: Operator,
  write: (text: string) => void,
  botId: string | undefined,
): Promise<string> {
  const all = { tables: 0, rows: 0 };
  let after: RowPlace | undefined;
  do {
    const answer = await operator.call(tables.reindex, { botId, after });
    all.tables += answer.tables;
    all.rows += answer.rows;
    after = answer.next;
    show(write, `${all.rows} rows, ${all.tables} tables`);
  } while (after);
  return (
    `\n${all.rows} more rows wait to be indexed again, in searchable tables: ${all.tables}. They are found as that is ` +
    'done: each table says in its field `indexing` how many still wait.'
  );
}

/** Says which models were dropped. */
export async function dropFormerModels(operator: Operator): Promise<string> {
  const dropped = new Set<string>();
  let after: string | undefined;
  do {
    const answer = await operator.call(files.reindex.dropFormer, { after });
    answer.models.forEach((model) => dropped.add(model));
    after = answer.after;
  } while (after !== undefined);
  return dropped.size > 0 ? `Dropped: ${[...dropped].join(', ')}.` : 'There is nothing to drop.';
}

/** One line that is written over where there is a terminal to do so. */
function show(write: (text: string) => void, text: string): void {
  write(process.stdout.isTTY ? `\r\u001b[2K${text}` : `${text}\n`);
}

function summary(model: string, refused: number): string {
  const lines = [
    `The next embedding model, ${model}, has everything. Give EMBEDDINGS_URL, EMBEDDINGS_MODEL and EMBEDDINGS_API_KEY the`,
    'values of their NEXT_ variables, remove those, and start Parley anew; then `npm run parley -- reindex --drop-old`.',
  ];
  if (refused > 0) lines.unshift(`It refused ${refused} passages, which it will not find: the log names their files.`);
  return lines.join('\n');
}
