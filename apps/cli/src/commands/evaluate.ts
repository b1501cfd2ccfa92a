import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { files } from '@parley/contracts/files';
import {
  changesOf,
  changeText,
  evaluate,
  type EvaluatedQuestion,
  figuresOf,
  InvalidQuestions,
  type KeptRun,
  lastRunKey,
  missedOf,
  parseQuestions,
  placeText,
  questionsKey,
} from '@parley/contracts/search-evaluation';
import { BotClient } from '../bot-client';
import { CommandFailed, type Output, printResult } from '../output';

const mostMissed = 20;

export function addEvaluateCommand(program: Command, output: Output): void {
  program
    .command('evaluate')
    .description(
      'asks the questions of a bot and shows how well its search finds the answers, and the change since the last run',
    )
    .argument('<bot>', 'bot id')
    .argument('[file]', 'JSON list of { question, file, passage? } to keep for the bot, instead of the one that it has')
    .action(async (botId: string, path?: string) => {
      const client = BotClient.find(botId);
      const questions = await questionsOf(client, path);
      const last = await client.read(lastRunKey);
      const kept = await evaluate(
        questions,
        last === undefined ? undefined : (JSON.parse(last) as KeptRun),
        (query) => client.call(files.search, query),
        (asked) => output.err(process.stderr.isTTY ? `\r\u001b[2K${asked} of ${questions.length} questions` : ''),
      );
      if (process.stderr.isTTY) output.err('\r\u001b[2K');
      await client.write(lastRunKey, JSON.stringify(kept));
      printResult(output, reportOf(kept));
    });
}

async function questionsOf(client: BotClient, path: string | undefined) {
  const text = path === undefined ? await client.read(questionsKey) : await readFile(path, 'utf8').catch(unreadable);
  if (text === undefined) {
    throw new CommandFailed(
      'The bot has no questions yet: name a JSON file such as [{"question": "Are dogs welcome?", "file": "rules.md"}].',
    );
  }
  try {
    const questions = parseQuestions(text);
    if (path !== undefined) await client.write(questionsKey, JSON.stringify(questions, null, 2));
    return questions;
  } catch (error) {
    if (!(error instanceof InvalidQuestions)) throw error;
    throw new CommandFailed(`${path ?? questionsKey}: ${error.message}`, { cause: error });
  }
}

function unreadable({ message }: Error): never {
  throw new CommandFailed(`The questions cannot be read: ${message}`);
}

function reportOf({ before, ...run }: KeptRun): string {
  const now = figuresOf(run);
  const then = before && figuresOf(before);
  const row = (name: string, figure: keyof typeof now) => {
    const change = then ? `   ${changeText(now[figure] - then[figure])} since ${before.startedAt}` : '';
    return `  ${name.padEnd(7)}${now[figure].toFixed(3)}${change}`;
  };
  const missed = missedOf(run);
  const changes = before ? changesOf(run, before) : [];
  return [
    `${run.questions.length} questions`,
    row('hit@1', 'hitAt1'),
    row('hit@5', 'hitAt5'),
    row('MRR', 'meanReciprocalRank'),
    ...section(
      'Not among the first five',
      missed,
      ({ question, file, place }: EvaluatedQuestion) => `  ${placeText(place).padStart(6)}  ${question}  (${file})`,
    ),
    ...section('Changed', changes, ({ question, from, to }) => `  ${placeText(from)} → ${placeText(to)}  ${question}`),
  ].join('\n');
}

function section<Entry>(title: string, entries: Entry[], line: (entry: Entry) => string): string[] {
  if (entries.length === 0) return [];
  const rest = entries.length - mostMissed;
  return ['', `${title}:`, ...entries.slice(0, mostMissed).map(line), ...(rest > 0 ? [`  and ${rest} more`] : [])];
}
