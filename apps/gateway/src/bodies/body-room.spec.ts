import { BodyRoom, type BodySender } from './body-room';

const full = /leave no room for this one/;
const of = (tenant: string): BodySender => ({ tenant, isProven: true });
const stranger: BodySender = { tenant: '127.0.0.1', isProven: false };
const neverCut = (reason: Error) => {
  throw reason;
};

describe('The room for bodies', () => {
  it('is taken by what has arrived, not by what was announced', () => {
    const room = new BodyRoom(200, 100);
    const silent = Array.from({ length: 1_000 }, () => room.open(of('silent'), neverCut));
    silent.slice(0, 10).forEach((lease) => lease.take(1));

    expect(() => room.open(of('other'), neverCut).take(45)).not.toThrow();
  });

  it('is half for a tenant that is alone, and there is always some for one more', () => {
    const room = new BodyRoom(200, 100);
    const first = room.open(of('first'), neverCut);
    first.take(50);

    expect(() => first.take(1)).toThrow(full);
    expect(() => room.open(of('first'), neverCut).take(1)).toThrow(full);
    room.open(of('second'), neverCut).take(25);
    room.open(of('third'), neverCut).take(12);
  });

  it('is given back when the request has ended, once', () => {
    const room = new BodyRoom(200, 100);
    const first = room.open(of('first'), neverCut);
    first.take(50);
    first.end();
    first.end();

    const second = room.open(of('second'), neverCut);
    second.take(50);
    expect(() => second.take(1)).toThrow(full);
  });

  it('does what a request leaves to its end, also when that has come already', () => {
    const lease = new BodyRoom(200, 100).open(of('first'), neverCut);
    const ended: string[] = [];
    lease.onEnd(() => ended.push('before'));
    lease.end();
    lease.onEnd(() => ended.push('after'));

    expect(ended).toEqual(['before', 'after']);
  });
});

describe('Strangers', () => {
  it('take a small part together: the oldest is cut off for the next, and nobody else is refused', () => {
    const room = new BodyRoom(200, 100);
    const cut: number[] = [];
    const leases = [0, 1, 2, 3, 4, 5].map((number) => room.open(stranger, () => cut.push(number)));
    leases.forEach((lease) => lease.take(1));

    expect(cut).toEqual([0]);
    room.open(of('somebody'), neverCut).take(45);
  });

  it('are cut off for many more, however little they send', () => {
    const room = new BodyRoom(200, 100_000);
    const cut: number[] = [];
    for (let number = 0; number < 1_000; number += 1) room.open(stranger, () => cut.push(number)).take(1);

    expect(cut).toEqual(Array.from({ length: 800 }, (_, number) => number));
  });

  it('are not cut off once their bodies are there', () => {
    const room = new BodyRoom(200, 100);
    const whole = room.open(stranger, neverCut);
    whole.take(4);
    whole.complete();

    expect(() => room.open(stranger, neverCut).take(2)).toThrow(full);
    whole.end();
    room.open(stranger, neverCut).take(5);
  });
});
