import { isUUID } from 'class-validator';
import { CommandFailed } from './output';

/** Refuses ids that no bot can have. Does not ask whether the bot exists: data of a deleted bot may be left. */
export function possibleBot(botId: string): string {
  if (!isUUID(botId)) throw new CommandFailed(`Bot "${botId}" not found: a bot id is a UUID.`);
  return botId;
}
