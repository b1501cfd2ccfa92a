import { cacheClock } from '@parley/testing/cache-clock';
import { RuntimeConfig } from '../config';
import { CallSlotsLimiter } from './call-slots.limiter';

const limiter = (slots: number) =>
  new CallSlotsLimiter(Object.assign(new RuntimeConfig(), { deliveriesConcurrency: slots }));
const bot = (workspaceId: string, name = 'bot') => ({ botId: `${workspaceId} ${name}`, workspaceId });

afterEach(() => void jest.restoreAllMocks());

/** Acquires until there is no slot. */
function fill(slots: CallSlotsLimiter, workspaceId: string): (() => void)[] {
  const releases: (() => void)[] = [];
  for (let release = slots.acquire(bot(workspaceId)); release; release = slots.acquire(bot(workspaceId)))
    releases.push(release);
  return releases;
}

it('gives a workspace half of all slots, and others as many as are free', () => {
  const slots = limiter(12);

  expect(fill(slots, 'a')).toHaveLength(6);
  expect(fill(slots, 'b')).toHaveLength(3);
  expect(fill(slots, 'c')).toHaveLength(2);
  expect(fill(slots, 'd')).toHaveLength(1);
});

it('holds all known bots of a workspace that has its share, until a call ends', () => {
  const slots = limiter(6);
  slots.acquire(bot('a', 'idle'))!();
  const [release] = fill(slots, 'a');
  slots.acquire(bot('b'));

  expect(slots.saturatedBots().sort()).toEqual(['a bot', 'a idle']);
  expect(slots.acquire(bot('a', 'new'))).toBeUndefined();
  expect(slots.saturatedBots()).toContain('a new');

  release!();
  expect(slots.saturatedBots()).toEqual([]);
  expect(slots.acquire(bot('a', 'new'))).toBeDefined();
});

it('gives a bot that did not answer three times in a row one slot, until it answers', () => {
  const slots = limiter(100);
  const unresponsive = bot('a');
  for (const isInTime of [false, true, false, false]) slots.noteAnswer(unresponsive.botId, isInTime);
  const [first] = [slots.acquire(unresponsive), slots.acquire(unresponsive)];
  expect(slots.saturatedBots()).toEqual([]);

  slots.noteAnswer(unresponsive.botId, false);

  expect(slots.saturatedBots()).toEqual(['a bot']);
  expect(slots.acquire(unresponsive)).toBeUndefined();
  expect(slots.acquire(bot('a', 'other'))).toBeDefined();
  slots.noteAnswer(unresponsive.botId, true);
  expect(slots.acquire(unresponsive)).toBeDefined();
  first!();
});

it('gives a bot several slots again ten minutes after the last call that it did not answer', () => {
  const { pass } = cacheClock();
  const slots = limiter(100);
  const hanging = bot('a');
  slots.acquire(hanging);
  for (let count = 0; count < 3; count += 1) {
    pass(60_000);
    slots.noteAnswer(hanging.botId, false);
  }

  pass(10 * 60_000);
  expect(slots.acquire(hanging)).toBeUndefined();
  pass(1);

  expect(slots.acquire(hanging)).toBeDefined();
});

it('holds a bot whose code pauses, until it changes', () => {
  const slots = limiter(100);
  const pausing = bot('a');

  slots.pause(pausing.botId, 60_000);

  expect(slots.saturatedBots()).toEqual(['a bot']);
  slots.resume(pausing.botId);
  expect(slots.saturatedBots()).toEqual([]);
});

it('gives the last slot to whoever asks first', () => {
  const slots = limiter(1);

  const [release, ...others] = fill(slots, 'a');

  expect(others).toEqual([]);
  expect(slots.acquire(bot('b'))).toBeUndefined();
  release!();
  expect(slots.acquire(bot('b'))).toBeDefined();
});
