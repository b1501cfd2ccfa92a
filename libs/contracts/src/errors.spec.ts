import { errorFrom } from '@botpress/client';
import { ApiError, errorCodes, type ErrorType, notFound, unavailable, type WireError } from './errors';

const types = Object.keys(errorCodes) as ErrorType[];

describe('an error', () => {
  it.each(types)('keeps an error of type %s through serialization over the bus', (type) => {
    const error = new ApiError(type, 'no', { metadata: { field: 'a' }, retryAfterSeconds: 2 });

    const received = ApiError.fromWire(JSON.parse(JSON.stringify(error.toWire())) as WireError);

    expect(received).toEqual(error);
    expect(received.toWire()).toEqual(error.toWire());
  });

  it.each(types)('sends an error of type %s with the status that the public client expects', (type) => {
    const seen = errorFrom({ id: 'err_1', code: errorCodes[type], type, message: 'no' });

    expect(seen).toMatchObject({ type, code: errorCodes[type], message: 'no' });
  });

  it('does not disclose the cause of an error', () => {
    const error = unavailable('later', new Error('password=hush'));

    expect(error).toMatchObject({ code: 503, retryAfterSeconds: 1 });
    expect(JSON.stringify(error.toWire())).not.toContain('hush');
  });

  it.each(['Nonsense', 'toString', '__proto__', ''])(
    'reads an error of the undeclared type "%s" as Unknown',
    (type) => {
      const received = ApiError.fromWire({ type: type as ErrorType, message: 'no', code: 200 });

      expect(received).toMatchObject({ type: 'Unknown', code: 500, message: 'no' });
    },
  );

  it('names the resource that was not found', () => {
    expect(notFound('bot', 'b1')).toMatchObject({
      type: 'ResourceNotFound',
      code: 404,
      message: 'The bot "b1" was not found.',
    });
  });
});
