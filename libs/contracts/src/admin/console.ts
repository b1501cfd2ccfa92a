import { IsEmail, IsString, Length } from 'class-validator';
import { anyone, operator } from '../access';
import { Optional } from '../fields';
import { operation } from '../operation';

export class CreateConsoleLink {
  /** Account that the link signs in; by default the one created at the very first start. */
  @Optional() @IsEmail() email?: string;
}

export class ConsoleLink {
  /** Address of the console, with a single-use code in its fragment. */
  @IsString() url!: string;

  @IsString() expiresAt!: string;
}

export class CreateConsoleSession {
  /** Code from the fragment of a link. */
  @IsString() @Length(1, 100) code!: string;
}

export class ConsoleSession {
  /** Id of the personal access token, to revoke it. */
  @IsString() tokenId!: string;

  @IsString() token!: string;
  @IsString() expiresAt!: string;
}

export const consoleLinks = {
  create: operation({
    subject: 'admin.consoleLinks.create',
    route: 'POST /operator/console/links',
    summary: 'Creates a link that signs an account in to the console once, within 5 minutes.',
    access: operator,
    input: CreateConsoleLink,
    output: ConsoleLink,
  }),
};

export const consoleSessions = {
  create: operation({
    subject: 'admin.consoleSessions.create',
    route: 'POST /console/sessions',
    summary: 'Exchanges the code of a console link for a personal access token that expires after 12 hours.',
    access: anyone,
    isOwn: true,
    input: CreateConsoleSession,
    output: ConsoleSession,
  }),
};
