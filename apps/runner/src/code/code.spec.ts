import { lackingOf } from '@parley/contracts/runner/runner';
import { SealedBoxKey, sealFor } from '@parley/secrets/sealed-box';
import { CodeService } from './code.service';

const bundle = { ownerId: 'bot', codeRevision: '1' };
const secrets = { token: 'key', secrets: { COLOR: 'blue' } };

let service: CodeService;

beforeEach(() => {
  service = new CodeService();
});

afterEach(() => jest.restoreAllMocks());

const lacking = (sealed?: string[]) => {
  try {
    service.programOf({ ...bundle, sealed });
    return undefined;
  } catch (error) {
    return lackingOf(error);
  }
};
const seal = (content: object, publicKey = lacking()!.publicKey) =>
  sealFor(publicKey, { ownerId: 'bot', revision: '1' }, JSON.stringify(content));
const put = (offset: number, text: string, nextOffset?: number) => service.put({ ...bundle, offset, text, nextOffset });

it('uses code that is whole, with secrets that were sealed in one or several texts', () => {
  const sealed = [seal({ secrets: secrets.secrets }), seal({ token: 'key' })];
  expect(lacking(sealed)).toMatchObject({ lacks: ['code'] });

  put(0, 'one ', 4);
  expect(lacking(sealed)).toMatchObject({ lacks: ['code'] });
  put(4, 'two', undefined);

  expect(lacking()).toMatchObject({ lacks: ['secrets'] });
  expect(service.programOf({ ...bundle, sealed })).toEqual({ code: 'one two', ...secrets });
  expect(service.programOf({ ...bundle, sealed: [seal(secrets)] })).toEqual({ code: 'one two', ...secrets });
});

it('takes each part once, whichever of two senders hands it over first', () => {
  for (const [offset, text, nextOffset] of [
    [0, 'a', 1],
    [0, 'a', 1],
    [1, 'b', 2],
    [0, 'a', 1],
    [2, 'c'],
    [1, 'b', 2],
    [2, 'c'],
  ] as const)
    put(offset, text, nextOffset);

  expect(service.programOf({ ...bundle, sealed: [seal(secrets)] }).code).toBe('abc');
});

it('refuses a part without the one before', () => {
  expect(() => put(1, 'b')).toThrow('The runner lacks code.');
  put(0, 'a', 1);
  expect(() => put(2, 'c')).toThrow('The runner lacks code.');

  expect(lacking()).toMatchObject({ lacks: ['code', 'secrets'] });
});

it('drops incomplete code a minute after its last part, and keeps whole code', () => {
  let passedMs = 0;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
  put(0, 'a', 1);
  passedMs += 59_000;
  put(1, 'b', 2);
  passedMs += 59_000;
  put(2, 'c', 3);
  passedMs += 61_000;
  expect(() => put(3, 'd')).toThrow('The runner lacks code.');

  put(0, 'whole');
  passedMs += 3_600_000;
  expect(lacking()).toMatchObject({ lacks: ['secrets'] });
});

it('keeps 128 MiB of code, incomplete code included, and none that is larger than a program may be', () => {
  const [large, mb] = ['x'.repeat(25_000_000), 2 ** 20];
  for (let bot = 0; bot < 6; bot += 1)
    service.put({
      ownerId: `bot${bot}`,
      codeRevision: '1',
      offset: 0,
      text: large,
      nextOffset: bot % 2 ? large.length : undefined,
    });
  expect(service['known'].calculatedSize).toBeLessThanOrEqual(128 * mb);
  expect(service['known'].size).toBe(5);

  put(0, large, large.length);
  put(large.length, 'x');
  expect(lacking()).toMatchObject({ lacks: ['code', 'secrets'] });
});

it('opens no secrets that were sealed for another runner', () => {
  put(0, 'code');

  expect(() => service.programOf({ ...bundle, sealed: [seal(secrets, new SealedBoxKey().publicKey)] })).toThrow();
});
