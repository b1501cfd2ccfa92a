import type { Command } from 'commander';

const columns = 100;

/** Markdown page of all commands, with the help text of each. */
export function referencePage(program: Command): string {
  return [...head, ...commandsOf(program, 'npm run parley --').flatMap(section), ''].join('\n');
}

const head = [
  '# CLI',
  '',
  'Commands for the operator: `npm run parley -- <command>`. They call the platform at `PARLEY_URL` with its `PARLEY_SECRET_KEY`,',
  'or the embedded one of the data folder (`PARLEY_DATA_DIR`, by default `.parley`). Results are printed to standard output, most',
  'of them as JSON; errors and progress to standard error. Exit codes: 0 succeeded, 1 failed, 2 wrong arguments.',
  '',
  'Completion, here for bash with the package `bash-completion` (also zsh, fish and PowerShell):',
  '',
  '```sh',
  'parley() { npm run --silent parley -- "$@"; }',
  'source <(parley complete bash)',
  '```',
  '',
  'This page is generated from the code: `UPDATE_DOCS=1 npm test -- cli`.',
];

interface Leaf {
  line: string;
  command: Command;
}

function commandsOf(command: Command, prefix: string): Leaf[] {
  return command.commands
    .filter((sub) => sub.name() !== 'complete')
    .flatMap((sub) => {
      const line = `${prefix} ${sub.name()}`;
      return sub.commands.length > 0 ? commandsOf(sub, line) : [{ line, command: sub }];
    });
}

function section({ line, command }: Leaf): string[] {
  command.configureHelp({ helpWidth: columns });
  const [, ...help] = command.helpInformation().trimEnd().split('\n');
  const name = line.replace('npm run parley -- ', '');
  return ['', `## ${name}`, '', '```', `${line} ${command.usage()}`.trimEnd(), ...help, '```'];
}
