import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { TextAnswers } from './text-answers';

function newResponse() {
  return new EventEmitter() as ServerResponse;
}

describe('downloads of text', () => {
  it('are four at a time, and the next one is told to come again', () => {
    const texts = new TextAnswers();
    const responses = Array.from({ length: 4 }, newResponse);
    responses.forEach((response) => texts.admit(response));

    expect(() => texts.admit(newResponse())).toThrow(expect.objectContaining({ code: 503, retryAfterSeconds: 1 }));
    responses[2]!.emit('close');

    expect(() => texts.admit(newResponse())).not.toThrow();
    expect(() => texts.admit(newResponse())).toThrow();
    responses.forEach((response) => response.emit('close'));
  });
});
