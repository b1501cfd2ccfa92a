import { readIdempotencyKey } from './idempotency-key';

describe('the header Idempotency-Key', () => {
  it.each(['a', '8e03978e-40d5-43dd-bc93-6894a57f9324', '"quoted"', 'order 7 / second try', '~'.repeat(255)])(
    'accepts the header Idempotency-Key %j',
    (key) => {
      expect(readIdempotencyKey({ 'idempotency-key': key })).toBe(key);
    },
  );

  it('accepts requests without the header Idempotency-Key', () => {
    expect(readIdempotencyKey({ 'x-bot-id': 'bot' })).toBeUndefined();
  });

  it.each([
    ['is empty', ''],
    ['is too long', 'x'.repeat(256)],
    ['has a letter beyond ASCII', 'caf\u00e9'],
    ['has a tab', 'a\tb'],
    ['has a line break at its end', 'a\n'],
    ['has a character for control', 'a\u007f'],
    ['came as a list', ['a']],
  ])('returns InvalidPayload with the allowed form for an Idempotency-Key that %s', (_name, key) => {
    expect(() => readIdempotencyKey({ 'idempotency-key': key })).toThrow(
      expect.objectContaining({
        type: 'InvalidPayload',
        message: expect.stringMatching(/^The header Idempotency-Key must have 1 to 255 printable ASCII characters/),
      }),
    );
  });
});
