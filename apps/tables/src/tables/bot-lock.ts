/** Name of the advisory lock per bot: shared to create a table, exclusive to delete the bot. */
export function tablesOfBot(botId: string): string {
  return `tables:bot:${botId}`;
}
