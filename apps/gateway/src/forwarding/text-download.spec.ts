import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { TextDownloadLimiter } from './text-download.limiter';

function newResponse() {
  return new EventEmitter() as ServerResponse;
}

describe('text downloads', () => {
  afterEach(realClock);

  it('limits text downloads to four at a time, and rejects further ones with 503 and Retry-After', () => {
    const texts = new TextDownloadLimiter();
    const responses = Array.from({ length: 4 }, newResponse);
    const [next, last] = [newResponse(), newResponse()];
    responses.forEach((response) => texts.admit(response));

    expect(() => texts.admit(next)).toThrow(expect.objectContaining({ code: 503, retryAfterSeconds: 1 }));
    responses[2]!.emit('close');

    expect(() => texts.admit(next)).not.toThrow();
    expect(() => texts.admit(last)).toThrow();
    [...responses, next].forEach((response) => response.emit('close'));
    expect(() => texts.admit(last)).not.toThrow();
    last.emit('close');
  });

  it('takes no slot for a text download whose client disconnected before it began', () => {
    const texts = new TextDownloadLimiter();

    for (let gone = 0; gone < 5; gone += 1) texts.admit(Object.assign(newResponse(), { destroyed: true }));

    const response = newResponse();
    expect(() => texts.admit(response)).not.toThrow();
    response.emit('close');
  });

  it('closes the connection of a client that has not read a text within two minutes', () => {
    fakeClock('setTimeout', 'clearTimeout');
    const texts = new TextDownloadLimiter();
    const [slow, quick] = [newResponse(), newResponse()].map((response) => {
      const destroy = jest.fn(() => response.emit('close'));
      return Object.assign(response, { destroy });
    });
    texts.admit(slow!);
    texts.admit(quick!);
    quick!.emit('close');

    jest.advanceTimersByTime(119_999);
    expect(slow!.destroy).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);

    expect(slow!.destroy).toHaveBeenCalledTimes(1);
    expect(quick!.destroy).not.toHaveBeenCalled();
  });
});
