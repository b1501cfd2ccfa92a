import { BodyMemoryLimiter, type BodySender } from './body-memory.limiter';

const full = /Too many request bodies are being received/;
const of = (tenant: string): BodySender => ({ tenant, isAuthenticated: true });
const unauthenticated: BodySender = { tenant: '127.0.0.1', isAuthenticated: false };
const neverCut = (reason: Error) => {
  throw reason;
};

describe('The memory limit for bodies', () => {
  it('counts received bytes of a body, not the announced length', () => {
    const memory = new BodyMemoryLimiter(3_000, 100);
    const silent = Array.from({ length: 1_000 }, () => memory.open(of('silent'), neverCut));
    silent.slice(0, 10).forEach((lease) => lease.take(1));

    expect(() => memory.open(of('other'), neverCut).take(45)).not.toThrow();
  });

  it('gives a single tenant half of the memory and always leaves some for another tenant', () => {
    const memory = new BodyMemoryLimiter(200, 100);
    const first = memory.open(of('first'), neverCut);
    first.take(50);

    expect(() => first.take(1)).toThrow(full);
    expect(() => memory.open(of('first'), neverCut).take(1)).toThrow(full);
    memory.open(of('second'), neverCut).take(25);
    memory.open(of('third'), neverCut).take(12);
  });

  it('frees the bytes of a request once when it ends', () => {
    const memory = new BodyMemoryLimiter(200, 100);
    const first = memory.open(of('first'), neverCut);
    first.take(50);
    first.end();
    first.end();

    const second = memory.open(of('second'), neverCut);
    second.take(50);
    expect(() => second.take(1)).toThrow(full);
  });

  it('runs end actions of a body when the request ends, or at once when it has ended already', () => {
    const lease = new BodyMemoryLimiter(200, 100).open(of('first'), neverCut);
    const ended: string[] = [];
    lease.onEnd(() => ended.push('before'));
    lease.end();
    lease.onEnd(() => ended.push('after'));

    expect(ended).toEqual(['before', 'after']);
  });
});

describe('The limit for incomplete bodies', () => {
  const incomplete = /Too many request bodies are incomplete/;

  it('cuts off the oldest upload of a tenant with half of them, and leaves some for another tenant', () => {
    const memory = new BodyMemoryLimiter(200);
    const cut: number[] = [];
    for (let number = 0; number < 1_000; number += 1) memory.open(of('silent'), () => cut.push(number));

    expect(cut).toEqual(Array.from({ length: 900 }, (_, number) => number));
    for (let number = 0; number < 50; number += 1) memory.open(of('second'), (reason) => neverCut(reason));
    expect(() => memory.open(of('second'), neverCut)).toThrow(incomplete);
    memory.open(of('third'), neverCut);
  });

  it('leaves memory for further bodies when many tenants send some', () => {
    const memory = new BodyMemoryLimiter(200);
    for (let tenant = 0; tenant < 150; tenant += 1) memory.open(of(`tenant ${tenant}`), neverCut);

    expect(() => memory.open(of('last'), neverCut)).not.toThrow();
  });

  it('counts a body no longer as incomplete when it is complete, or when its request has ended', () => {
    const memory = new BodyMemoryLimiter(2);

    for (let round = 0; round < 10; round += 1) memory.open(of('first'), neverCut).complete();
    for (let round = 0; round < 10; round += 1) memory.open(of('first'), neverCut).end();
    const last = memory.open(of('first'), neverCut);
    last.complete();
    last.end();
    memory.open(of('first'), neverCut);
  });
});

describe('Unauthenticated senders', () => {
  it('shares a small part among unauthenticated senders, and cuts off the oldest upload for the next', () => {
    const memory = new BodyMemoryLimiter(200, 100);
    const cut: number[] = [];
    const leases = [0, 1, 2, 3, 4, 5].map((number) => memory.open(unauthenticated, () => cut.push(number)));
    leases.forEach((lease) => lease.take(1));

    expect(cut).toEqual([0]);
    memory.open(of('somebody'), neverCut).take(45);
  });

  it('cuts off unauthenticated senders when too many are sending, however few bytes they send', () => {
    const memory = new BodyMemoryLimiter(200, 100_000);
    const cut: number[] = [];
    for (let number = 0; number < 1_000; number += 1) memory.open(unauthenticated, () => cut.push(number)).take(1);

    expect(cut).toEqual(Array.from({ length: 800 }, (_, number) => number));
  });

  it('does not cut off unauthenticated senders after their body is complete', () => {
    const memory = new BodyMemoryLimiter(200, 100);
    const whole = memory.open(unauthenticated, neverCut);
    whole.take(4);
    whole.complete();

    expect(() => memory.open(unauthenticated, neverCut).take(2)).toThrow(full);
    whole.end();
    memory.open(unauthenticated, neverCut).take(5);
  });
});
