import { encodeFrame } from '../host/frames';
import { FrameReader, FrameRefused } from './frame-reader';

const frame = (body: string, header: object = { type: 'output' }) =>
  Buffer.concat(encodeFrame(header as { type: 'pong' }, Buffer.from(body)));
const reader = () => new FrameReader(({ type }) => (type === 'answered' ? 100_000 : 1_000));

function framesOf(own: FrameReader): string[] {
  const bodies: string[] = [];
  for (let next = own.next(); next; next = own.next()) bodies.push(next.body.toString());
  return bodies;
}

it('reads frames wherever the bytes were cut', () => {
  const bytes = Buffer.concat([frame('one'), frame(''), frame('zwölf'), frame('x'.repeat(999))]);
  for (const size of [1, 2, 7, 100, bytes.length]) {
    const own = reader();
    const bodies: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      own.push(bytes.subarray(at, at + size));
      bodies.push(...framesOf(own));
    }
    expect(bodies).toEqual(['one', '', 'zwölf', 'x'.repeat(999)]);
  }
});

it('reads several chunks that arrived before they were read', () => {
  const own = reader();
  const bytes = frame('body');
  own.push(bytes.subarray(0, 5));
  own.push(bytes.subarray(5));

  expect(own.next()).toEqual({ header: { type: 'output' }, body: Buffer.from('body') });
  expect(own.next()).toBeUndefined();
});

it.each([
  ['a body beyond the limit of its header', frame('x'.repeat(1_001)), /1001 bytes, where 1000 are allowed/],
  ['a header beyond the limit', frame('', { type: 'x'.repeat(70_000) }), /where 64000 are allowed/],
  ['a header that is no JSON', Buffer.from('\0\0\0\x03\0\0\0\0{{{'), /no JSON object/],
  ['a header that is no object', Buffer.from('\0\0\0\x02\0\0\0\0[]'), /no JSON object/],
  ['a line of text', Buffer.from('{"type":"output"}\n'), /where 64000 are allowed/],
])('refuses as a frame %s', (_case, bytes, problem) => {
  const own = reader();
  own.push(bytes);

  expect(() => own.next()).toThrow(FrameRefused);
  expect(() => own.next()).toThrow(problem);
});

it('refuses a long body before it arrives', () => {
  const own = reader();
  own.push(frame('x'.repeat(50_000)).subarray(0, 100));

  expect(() => own.next()).toThrow(FrameRefused);
});

it('reads a long body where the header allows it', () => {
  const own = reader();
  own.push(frame('x'.repeat(50_000), { type: 'answered' }));

  expect(framesOf(own)).toEqual(['x'.repeat(50_000)]);
});
