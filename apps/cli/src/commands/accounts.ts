import type { Command } from 'commander';
import { admin } from '@parley/contracts/admin/admin';
import { newToken } from '@parley/secrets/token';
import { Operator } from '../operator';
import { type Output, printResult } from '../output';

export function addAccountCommands(program: Command, output: Output): void {
  program
    .command('account')
    .description('accounts of people who use the platform')
    .command('create')
    .description('creates an account with a workspace of its own')
    .argument('<email>', 'email address of the account')
    .action(async (email: string) => {
      printResult(output, await Operator.find().call(admin.accounts.create, { email }));
    });

  program
    .command('console')
    .description('web page of the platform')
    .command('link')
    .description('prints a link that signs an account in to the console once, within 5 minutes')
    .option('--email <email>', 'email address of the account (default: that of the very first start)')
    .action(async ({ email }: { email?: string }) => {
      const { url } = await Operator.find().call(admin.consoleLinks.create, { email });
      printResult(output, url);
    });

  const token = program.command('token').description('personal access tokens');
  token
    .command('create')
    .description('creates a personal access token for an account and prints it once')
    .argument('<email>', 'email address of the account')
    .action(async (email: string) => {
      const { value } = await Operator.find().call(admin.accounts.createToken, { email });
      printResult(output, value);
    });
  token
    .command('generate')
    .description('prints a random token for PARLEY_BOOTSTRAP_TOKEN; no platform is called')
    .action(() => printResult(output, newToken('pat')));
}
