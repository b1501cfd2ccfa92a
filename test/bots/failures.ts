const deliveries = new Map<string, number>();

/** Fails as the text of a message says, and returns for any other text. `RuntimeError` is the class of the bot's SDK. */
export async function failAs(
  text: string,
  eventId: string,
  RuntimeError: new (message: string) => Error,
): Promise<void> {
  const delivery = (deliveries.get(eventId) ?? 0) + 1;
  deliveries.set(eventId, delivery);
  switch (text) {
    case 'runtime':
      throw new RuntimeError('told');
    case 'error':
      throw new Error('boom');
    case 'crash':
      return process.exit(1);
    case 'hang':
      return new Promise(() => {});
    case 'twice':
      if (delivery <= 2) throw new Error(`boom ${delivery}`);
      return;
    default:
  }
}
