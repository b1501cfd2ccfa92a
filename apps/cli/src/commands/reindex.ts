import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { files } from '@parley/contracts/files';
import type { OlderFiles } from '@parley/contracts/reindex';
import type { RowKey } from '@parley/contracts/tables/reindex';
import { tables } from '@parley/contracts/tables/tables';
import { possibleBot } from '../bot-id';
import { CommandFailed, type Output, printResult } from '../output';
import { Operator } from '../operator';

const maxPauseMs = 60_000;
const progressMs = 1_000;
/** A look at the progress reads all files: the pause is this many times as long. */
const pausePerLook = 5;

interface ReindexOptions {
  dropOld?: boolean;
  words?: boolean;
  olderReaders?: boolean;
  list?: boolean;
  format?: string;
  bot?: string;
  /** A bot id, or true for all bots. */
  tables?: string | true;
}

export function addReindexCommand(program: Command, output: Output): void {
  program
    .command('reindex')
    .description('fills the index of the next embedding model (NEXT_EMBEDDINGS_URL); safe to stop and start again')
    .addOption(new Option('--drop-old', 'remove the vectors of former models').conflicts('tables'))
    .addOption(
      new Option('--words', 'rebuild the words of files and rows that an older version indexed').conflicts([
        'dropOld',
        'tables',
      ]),
    )
    .addOption(
      new Option(
        '--older-readers',
        'read files anew that the reader of an older version has read or refused; they are listed first',
      ).conflicts(['dropOld', 'words', 'tables']),
    )
    .option('--list', 'with --older-readers: list the files only')
    .option('--format <format>', 'with --older-readers: files of one format, such as PDF or docx')
    .option('--bot <bot id>', 'with --older-readers: files of one bot')
    .option('--tables [bot id]', 'index the rows of searchable tables again, of all bots or of one')
    .action(async ({ dropOld, words, olderReaders, tables: bot, ...which }: ReindexOptions, command: Command) => {
      if (!olderReaders && Object.keys(which).length > 0) {
        command.error('error: --list, --format and --bot belong to --older-readers');
      }
      const operator = Operator.find();
      if (dropOld) printResult(output, await dropFormerModels(operator));
      else if (words) printResult(output, await rebuildWords(operator, output));
      else if (olderReaders) printResult(output, await readOlderFiles(operator, output, which));
      else if (bot) printResult(output, await reindexTables(operator, output, bot === true ? undefined : bot));
      else printResult(output, await reindexFiles(operator, output));
    });
}

/** Runs until the next model is complete and prints one line per step. Resumes where a stopped run ended. */
async function reindexFiles(operator: Operator, output: Output): Promise<string> {
  let refused = 0;
  for (;;) {
    const progress = await operator.call(files.reindex.advance, {});
    const { model, total, left, isComplete, problem, pauseMs } = progress;
    if (model === undefined) {
      throw new CommandFailed('No next embedding model is configured: set NEXT_EMBEDDINGS_URL and restart Parley.');
    }
    refused += progress.refused;
    printProgress(output, `${model}: ${total - left} of ${total} files${problem ? `. ${problem}` : ''}`);
    if (isComplete) return `\n${summary(model, refused)}`;
    if (pauseMs) await sleep(Math.min(pauseMs, maxPauseMs));
  }
}

/** Queues the rows of all searchable tables, or those of one bot, for indexing. Idempotent. */
async function reindexTables(operator: Operator, output: Output, botId: string | undefined): Promise<string> {
  const all = { tables: 0, rows: 0 };
  let after: RowKey | undefined;
  do {
    const answer = await operator.call(tables.reindex, { botId, after });
    all.tables += answer.tables;
    all.rows += answer.rows;
    after = answer.next;
    printProgress(output, `${all.rows} rows, ${all.tables} tables`);
  } while (after);
  return (
    `\nQueued ${all.rows} rows of ${all.tables} searchable tables for indexing. ` +
    'The field `indexing` of each table counts the rows that still wait.'
  );
}

/** The services do the work, also without this command, which waits until it is done. */
async function rebuildWords(operator: Operator, output: Output): Promise<string> {
  for (;;) {
    const ofFiles = await operator.call(files.reindex.words, {});
    const ofTables = await operator.call(tables.reindexWords, {});
    printProgress(output, `${ofFiles.left} files and ${ofTables.left} tables left`);
    if (ofFiles.left + ofTables.left === 0) return '\nFiles and rows are found by the words of this version.';
    await sleep(progressMs);
  }
}

/** The files service does the work, also without this command, which waits until it is done. */
async function readOlderFiles(
  operator: Operator,
  output: Output,
  { list, format, bot }: Pick<ReindexOptions, 'list' | 'format' | 'bot'>,
): Promise<string> {
  const which = { format, botId: bot === undefined ? undefined : possibleBot(bot) };
  const { groups } = await operator.call(files.reindex.listOlder, which);
  if (groups.length > 0) output.err(`${groups.map(groupLine).join('\n')}\n`);
  if (list) return groups.length > 0 ? 'They are read anew without --list.' : noneLeft;
  for (;;) {
    const asked = performance.now();
    const { left, refused, reading } = await operator.call(files.reindex.readOlder, which);
    printProgress(output, `${left} read and ${refused} refused files left, ${reading} being read`);
    if (left + refused + reading === 0) return `\n${noneLeft}`;
    await sleep(Math.max(progressMs, pausePerLook * (performance.now() - asked)));
  }
}

const noneLeft = 'No file was read or refused by an older reader.';

function groupLine({ format, reason, files: count }: OlderFiles): string {
  return `${String(count).padStart(7)}  ${format}${reason === undefined ? '' : `, refused: ${reason}`}`;
}

async function dropFormerModels(operator: Operator): Promise<string> {
  const dropped = new Set<string>();
  let after: string | undefined;
  do {
    const answer = await operator.call(files.reindex.dropFormer, { after });
    answer.models.forEach((model) => dropped.add(model));
    after = answer.after;
  } while (after !== undefined);
  return dropped.size > 0 ? `Dropped: ${[...dropped].join(', ')}.` : 'No former models to drop.';
}

/** Overwrites one line on a terminal; prints a new line elsewhere. */
function printProgress({ err }: Output, text: string): void {
  err(process.stderr.isTTY ? `\r\u001b[2K${text}` : `${text}\n`);
}

function summary(model: string, refused: number): string {
  const lines = [
    `The next embedding model, ${model}, is complete. Set EMBEDDINGS_URL, EMBEDDINGS_MODEL and EMBEDDINGS_API_KEY to the`,
    'values of their NEXT_ variables, remove those, and restart Parley; then run `npm run parley -- reindex --drop-old`.',
  ];
  if (refused > 0) lines.unshift(`It refused ${refused} passages, which it cannot find: the log names their files.`);
  return lines.join('\n');
}
