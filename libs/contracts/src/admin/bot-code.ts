import { IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { MapOf, Optional } from '../fields';
import { operation } from '../operation';

/** Characters of code in one answer. */
export const maxCodePartLength = 4_000_000;

/** A ticket names a bot and its deployed code. Admin gives it to the runtime, which hands it on with each invocation. */
export class GetBotCode {
  @IsString()
  ticket!: string;

  /** Characters to skip. */
  @IsInt()
  offset!: number;
}

export class BotCodePart {
  @IsString()
  text!: string;

  /** Offset of the next part. Absent in the last one. */
  @Optional()
  @IsInt()
  nextOffset?: number;
}

export class GetBotSecrets {
  @IsString()
  ticket!: string;
}

/** Decrypted: never logged, and never written to a disk. */
export class BotSecrets {
  /** API key of the bot for its own code. */
  @IsString()
  token!: string;

  /** Secrets of the bot by name. */
  @MapOf(String)
  secrets!: Record<string, string>;
}

export const botCode = {
  getPart: operation({
    subject: 'admin.botCode.getPart',
    summary: 'Gets a part of the deployed code of a bot.',
    access: service,
    input: GetBotCode,
    output: BotCodePart,
  }),
  getSecrets: operation({
    subject: 'admin.botCode.getSecrets',
    summary: 'Gets the API key and the secrets with which the code of a bot runs.',
    access: service,
    input: GetBotSecrets,
    output: BotSecrets,
  }),
};
