import { cacheClock } from '@parley/testing/cache-clock';
import { RuntimeConfig } from '../config';
import { CallPlacesLimiter } from './call-places.limiter';

const limiter = (places: number) =>
  new CallPlacesLimiter(Object.assign(new RuntimeConfig(), { deliveriesConcurrency: places }));
const bot = (workspaceId: string, name = 'bot') => ({ botId: `${workspaceId} ${name}`, workspaceId });

afterEach(() => void jest.restoreAllMocks());

/** Enters until there is no place. */
function fill(places: CallPlacesLimiter, workspaceId: string): (() => void)[] {
  const leaves: (() => void)[] = [];
  for (let leave = places.enter(bot(workspaceId)); leave; leave = places.enter(bot(workspaceId))) leaves.push(leave);
  return leaves;
}

it('gives a workspace half of all slots, and others as many as are free', () => {
  const places = limiter(12);

  expect(fill(places, 'a')).toHaveLength(6);
  expect(fill(places, 'b')).toHaveLength(3);
  expect(fill(places, 'c')).toHaveLength(2);
  expect(fill(places, 'd')).toHaveLength(1);
});

it('holds all known bots of a workspace that has its share, until a call ends', () => {
  const places = limiter(6);
  places.enter(bot('a', 'idle'))!();
  const [leave] = fill(places, 'a');
  places.enter(bot('b'));

  expect(places.heldBots().sort()).toEqual(['a bot', 'a idle']);
  expect(places.enter(bot('a', 'new'))).toBeUndefined();
  expect(places.heldBots()).toContain('a new');

  leave!();
  expect(places.heldBots()).toEqual([]);
  expect(places.enter(bot('a', 'new'))).toBeDefined();
});

it('gives a bot that did not answer three times in a row one slot, until it answers', () => {
  const places = limiter(100);
  const hanging = bot('a');
  for (const isInTime of [false, true, false, false]) places.noteAnswer(hanging.botId, isInTime);
  const [first] = [places.enter(hanging), places.enter(hanging)];
  expect(places.heldBots()).toEqual([]);

  places.noteAnswer(hanging.botId, false);

  expect(places.heldBots()).toEqual(['a bot']);
  expect(places.enter(hanging)).toBeUndefined();
  expect(places.enter(bot('a', 'other'))).toBeDefined();
  places.noteAnswer(hanging.botId, true);
  expect(places.enter(hanging)).toBeDefined();
  first!();
});

it('gives a bot several slots again ten minutes after the last call that it did not answer', () => {
  const { pass } = cacheClock();
  const places = limiter(100);
  const hanging = bot('a');
  places.enter(hanging);
  for (let count = 0; count < 3; count += 1) {
    pass(60_000);
    places.noteAnswer(hanging.botId, false);
  }

  pass(10 * 60_000);
  expect(places.enter(hanging)).toBeUndefined();
  pass(1);

  expect(places.enter(hanging)).toBeDefined();
});

it('holds a bot whose code pauses, until it changes', () => {
  const places = limiter(100);
  const pausing = bot('a');

  places.pause(pausing.botId, 60_000);

  expect(places.heldBots()).toEqual(['a bot']);
  places.resume(pausing.botId);
  expect(places.heldBots()).toEqual([]);
});

it('gives the last slot to whoever asks first', () => {
  const places = limiter(1);

  const [leave, ...others] = fill(places, 'a');

  expect(others).toEqual([]);
  expect(places.enter(bot('b'))).toBeUndefined();
  leave!();
  expect(places.enter(bot('b'))).toBeDefined();
});
