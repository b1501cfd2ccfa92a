import { bundleOf, harmful } from '@parley/testing/harmful-code';

/** Code of a bot that harms its process, its runner or the machine. */
export interface CodeBomb {
  name: string;
  code: string;
  /** Part of each test run: one of the attacks that once ended or blocked the platform. */
  isQuick?: true;
}

/** Request whose body costs far more to read than to send. */
export interface BodyBomb {
  name: string;
  /** Path that takes 32 MB. */
  path: string;
  isQuick?: true;
  make: () => Buffer;
}

const quick = new Set(['a signal to its process group', '100,000 line breaks', 'short messages without an end']);
/** Nothing listens there: attacks that need a server of their own try the port. */
const target = { apiPort: 9, otherPort: 9 };

export const codeBombs: CodeBomb[] = [
  ...harmful.map(({ name, code }) => ({
    name: `code: ${name}`,
    code: forEvents(name, bundleOf([{ name, code }])),
    ...(quick.has(name) && { isQuick: true as const }),
  })),
  { name: 'load: an error of a million line breaks', code: `throw new Error('\\n'.repeat(1e6));`, isQuick: true },
  { name: 'load: an endless loop', code: 'for (;;);' },
  { name: 'load: a wait that never ends', code: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);' },
  { name: 'load: a full heap', code: `const all = []; for (;;) all.push('x'.repeat(1e6) + all.length);` },
  { name: 'load: 10 MB of one line', code: `console.log('x'.repeat(1e7)); exports.handler = () => ({ status: 200 });` },
  {
    name: 'load: an end in the first moment',
    code: `process.reallyExit ? process.reallyExit(0) : process.exit(0);`,
  },
];

/** The bundle attacks for each event, and answers other calls. */
function forEvents(name: string, bundle: string): string {
  const body = JSON.stringify(JSON.stringify({ name, target }));
  return `${bundle}
    const attack = exports.handler;
    exports.handler = ({ headers }) => headers['x-bp-operation'] === 'event_received' ? attack({ body: ${body} }) : { status: 200 };`;
}

const integrations = '/v1/admin/integrations';
const megabytes = 20;
const filled = (text: string) => text.repeat(Math.floor((megabytes * 1e6) / text.length));
const inField = (value: string) => Buffer.from(`{"name":"x","version":"1.0.0","zzz":${value}}`);

export const bodyBombs: BodyBomb[] = [
  { name: 'body: empty objects', path: integrations, isQuick: true, make: () => inField(`[${filled('{},')}{}]`) },
  { name: 'body: lists that are not closed', path: integrations, make: () => inField(filled('[')) },
  {
    name: 'body: deep lists',
    path: integrations,
    make: () => inField('['.repeat(megabytes * 5e5) + ']'.repeat(megabytes * 5e5)),
  },
  {
    name: 'body: 900,000 deep objects',
    path: integrations,
    make: () => inField('{"a":'.repeat(9e5) + '1' + '}'.repeat(9e5)),
  },
  {
    name: 'body: names of fields',
    path: integrations,
    make: () => inField(`{${Array.from({ length: 1.5e6 }, (_, i) => `"n${i}":1`).join()}}`),
  },
  { name: 'body: the same name', path: integrations, make: () => inField(`{${filled('"a":{},')}"a":1}`) },
  { name: 'body: escapes', path: integrations, make: () => inField(`"${filled('\\u0000')}"`) },
  { name: 'body: one number', path: integrations, make: () => inField(filled('1')) },
  { name: 'body: small numbers', path: integrations, make: () => inField(`[${filled('1,')}1]`) },
  { name: 'body: no JSON', path: integrations, make: () => Buffer.alloc(megabytes * 1e6, '}') },
  { name: 'body: zeros', path: integrations, make: () => Buffer.alloc(megabytes * 1e6) },
  {
    name: 'body: small objects for a new bot',
    path: '/v1/admin/bots',
    make: () => inField(`[${filled('{"a":1},')}1]`),
  },
];
