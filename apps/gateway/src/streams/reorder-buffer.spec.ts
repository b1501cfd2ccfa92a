import { parseSignal, type ReceivedSignal } from './frame';
import { type BufferLimits, ReorderBuffer } from './reorder-buffer';

const signal = (number: number): ReceivedSignal => parseSignal({ number, frame: `{"n":${number}}` });
const numbersOf = (signals: ReceivedSignal[]) => signals.map(({ number }) => number);

function orderAfter(last: number, room?: BufferLimits): ReorderBuffer {
  const order = new ReorderBuffer(room);
  order.fill([], last);
  return order;
}

describe('signals', () => {
  it('delivers signals at once when they arrive in order', () => {
    const order = orderAfter(7);

    expect([8, 9, 10].map((number) => numbersOf(order.add(signal(number))))).toEqual([[8], [9], [10]]);
    expect(order.hasGap).toBe(false);
  });

  it('delivers signals once and in order, however they arrive', () => {
    const numbers = Array.from({ length: 200 }, (_, index) => index + 8);
    const shuffled = [...numbers, ...numbers].sort(() => Math.random() - 0.5);
    const order = orderAfter(7);

    const delivered = shuffled.flatMap((number) => order.add(signal(number)));

    expect(numbersOf(delivered)).toEqual(numbers);
  });

  it('drops signals older than the last delivered one', () => {
    const order = orderAfter(7);

    expect([1, 6, 7].flatMap((number) => order.add(signal(number)))).toEqual([]);
    expect(order.hasGap).toBe(false);
  });

  it('holds signals until the first number is known, and drops older ones', () => {
    const order = new ReorderBuffer();
    const early = [9, 7, 8, 6].flatMap((number) => order.add(signal(number)));

    const begun = order.fill([signal(5), signal(6), signal(7)], 7);

    expect(early).toEqual([]);
    expect(numbersOf(begun)).toEqual([8, 9]);
  });
});

describe('a gap', () => {
  it('reports a gap while an older signal is missing', () => {
    const order = orderAfter(7);

    order.add(signal(9));
    const during = order.hasGap;
    order.add(signal(8));

    expect(during).toBe(true);
    expect(order.hasGap).toBe(false);
  });

  it('fills a gap with the requested signals, followed by the buffered ones', () => {
    const order = orderAfter(7);
    [10, 12].forEach((number) => order.add(signal(number)));

    const filled = order.fill([signal(8), signal(9), signal(10)], 11);

    expect(numbersOf(filled)).toEqual([8, 9, 10, 12]);
    expect(order.last).toBe(12);
  });

  it('skips a gap when the missing signals are no longer stored', () => {
    const order = orderAfter(7);
    order.add(signal(10));

    const filled = order.fill([signal(9)], 9);

    expect(numbersOf(filled)).toEqual([9, 10]);
    expect(order.hasGap).toBe(false);
  });

  it('reports a gap when the answer is older than a signal that arrived', () => {
    const order = orderAfter(7);
    order.add(signal(10));

    expect(numbersOf(order.fill([signal(8)], 8))).toEqual([8]);
    expect(order.hasGap).toBe(true);
    expect(numbersOf(order.fill([], 5))).toEqual([]);
    expect(order.last).toBe(8);
  });

  it('keeps a buffered signal, which names the user to close, over the requested one', () => {
    const order = orderAfter(7);
    order.add({ ...signal(9), closes: 'user-1' });

    expect(order.fill([signal(8), signal(9)], 9)).toMatchObject([{ number: 8 }, { number: 9, closes: 'user-1' }]);
  });

  it('buffers a limited number of signals, and reports a gap until those beyond it are delivered', () => {
    const order = orderAfter(0, { signals: 3, size: 1_000 });
    [2, 3, 4, 5, 6].forEach((number) => order.add(signal(number)));

    const filled = order.add(signal(1));

    expect(numbersOf(filled)).toEqual([1, 2, 3, 4]);
    expect(order.hasGap).toBe(true);
    expect(numbersOf(order.fill([signal(5), signal(6)], 6))).toEqual([5, 6]);
    expect(order.hasGap).toBe(false);
  });

  it('buffers a limited length of text, which is freed on delivery', () => {
    const order = orderAfter(0, { signals: 10, size: 2 * signal(1).frame!.size });
    [2, 3, 4].forEach((number) => order.add(signal(number)));

    const filled = order.add(signal(1));

    expect(numbersOf(filled)).toEqual([1, 2, 3]);
    expect(order.hasGap).toBe(true);
    [6, 7].forEach((number) => order.add(signal(number)));
    expect(numbersOf(order.fill([signal(4), signal(5)], 5))).toEqual([4, 5, 6, 7]);
    expect(order.hasGap).toBe(false);
  });

  it('reports a gap for an expected signal until it is delivered', () => {
    const order = orderAfter(7);

    order.expect(8);
    const before = order.hasGap;
    const due = order.add(signal(8));

    expect(before).toBe(true);
    expect(numbersOf(due)).toEqual([8]);
    expect(order.hasGap).toBe(false);
  });
});
