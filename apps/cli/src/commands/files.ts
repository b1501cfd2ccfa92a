import { type Command, InvalidArgumentError, Option } from 'commander';
import { files } from '@parley/contracts/files';
import { maxRetriedFiles, type RetriedFiles } from '@parley/contracts/indexing-work';
import type { CorrectedStorage } from '@parley/contracts/storage-counts';
import { possibleBot } from '../bot-id';
import { CommandFailed, type Output, printResult } from '../output';
import { Operator } from '../operator';

interface RetryOptions {
  bot?: string;
  allFailed?: boolean;
}

export function addFileCommands(program: Command, output: Output): void {
  const group = program.command('files').description('indexing of files: progress, failures, retries');
  group
    .command('stuck')
    .description('lists files that wait to be indexed for long, or whose indexing was attempted before')
    .argument('[minutes]', 'minimum age in minutes (default: 10)', wholeNumber)
    .action(async (olderThanMinutes?: number) => {
      printResult(output, await filesOf(Operator.find().pages(files.indexing.listStuck, { olderThanMinutes })));
    });
  group
    .command('failed')
    .description('lists files that could not be indexed, with the reason, newest first')
    .argument('[bot id]', 'only files of this bot')
    .action(async (bot?: string) => {
      const botId = bot && possibleBot(bot);
      printResult(output, await filesOf(Operator.find().pages(files.indexing.listFailed, { botId })));
    });
  group
    .command('retry')
    .description('indexes files again, from the content that was uploaded')
    .argument('[file ids...]', 'ids of the files')
    .addOption(new Option('--bot <bot id>', 'all failed files of a bot').conflicts('allFailed'))
    .option('--all-failed', 'all failed files of all bots')
    .action(async (fileIds: string[], options: RetryOptions, command: Command) => {
      const hasOption = options.bot !== undefined || options.allFailed === true;
      if (fileIds.length > 0 === hasOption) command.error('error: give file ids, or --bot <bot id>, or --all-failed');
      const done = await retry(fileIds, options);
      printResult(output, done);
      if (fileIds.length > 0 && done.refused.length > 0)
        throw new CommandFailed(`Refused: ${done.refused.length} files.`);
    });

  program
    .command('storage')
    .description('storage counts')
    .command('reconcile')
    .description('counts the storage that files of all bots use, and lists the bots whose counts were wrong')
    .action(async () => printResult(output, await reconcile(Operator.find())));
}

async function retry(fileIds: string[], { bot }: RetryOptions): Promise<RetriedFiles> {
  const botId = bot && possibleBot(bot);
  const operator = Operator.find();
  if (fileIds.length > 0) return retryFiles(operator, fileIds);

  const all: RetriedFiles = { retried: [], refused: [] };
  // The list is newest first: a file that fails again meanwhile comes before the first page, so the loop ends.
  for await (const page of operator.pages(files.indexing.listFailed, { botId })) {
    if (page.files.length === 0) break;
    const done = await retryFiles(
      operator,
      page.files.map(({ fileId }) => fileId),
    );
    all.retried.push(...done.retried);
    all.refused.push(...done.refused);
  }
  return all;
}

async function retryFiles(operator: Operator, fileIds: string[]): Promise<RetriedFiles> {
  const distinct = [...new Set(fileIds)];
  const all: RetriedFiles = { retried: [], refused: [] };
  for (let start = 0; start < distinct.length; start += maxRetriedFiles) {
    const batch = { fileIds: distinct.slice(start, start + maxRetriedFiles) };
    const { retried, refused } = await operator.call(files.indexing.retry, batch);
    all.retried.push(...retried);
    all.refused.push(...refused);
  }
  return all;
}

async function reconcile(operator: Operator): Promise<{ checked: number; corrected: CorrectedStorage[] }> {
  let checked = 0;
  const corrected: CorrectedStorage[] = [];
  let after: string | undefined;
  do {
    const page = await operator.call(files.storage.reconcile, { after });
    checked += page.checked;
    corrected.push(...page.corrected);
    after = page.next;
  } while (after !== undefined);
  return { checked, corrected };
}

async function filesOf<T>(pages: AsyncIterable<{ files: T[] }>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(...page.files);
  return all;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
