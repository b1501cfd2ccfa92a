/** Names the lock that who makes a table shares with others who do, and that nobody has while the bot is marked as deleted. */
export function tablesOfBot(botId: string): string {
  return `tables:bot:${botId}`;
}
