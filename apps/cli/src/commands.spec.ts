import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runCommand } from './commands';

/** Something at PARLEY_URL that is not Parley. */
let stranger: Server;
const environment = { ...process.env };

beforeAll(async () => {
  stranger = createServer((_request, response) => response.writeHead(502).end('<html>Bad gateway</html>'));
  stranger.listen(0, '127.0.0.1');
  await once(stranger, 'listening');
});

beforeEach(() => {
  process.env['PARLEY_URL'] = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  process.env['PARLEY_SECRET_KEY'] = 's'.repeat(32);
});

afterEach(() => {
  process.env = { ...environment };
});

afterAll(() => stranger.close());

async function run(...line: string[]) {
  let output = '';
  const status = await runCommand(line, (text) => (output += text));
  return { status, output };
}

describe('a command', () => {
  it.each([[[]], [['account']], [['account', 'destroy']]])(
    'that is not known (%j) shows those that are',
    async (line) => {
      expect(await run(...line)).toEqual({
        status: 2,
        output: expect.stringMatching(/^Usage: [\s\S]*account create <email>/),
      });
    },
  );

  it.each([
    [['account', 'create'], 'Give an email address.\n'],
    [['bot', 'leftovers'], 'Give the id of a bot.\n'],
    [['dead-letters', 'list', 'chat'], 'Name the service, one of: admin, files, hub, tables.\n'],
  ])('that lacks something (%j) says what', async (line, output) => {
    expect(await run(...line)).toEqual({ status: 1, output });
  });

  it('says that what answers is no Parley', async () => {
    expect(await run('account', 'create', 'ann@example.com')).toEqual({
      status: 1,
      output: `What answers at ${process.env['PARLEY_URL']} is not Parley (502): set PARLEY_URL to its address.\n`,
    });
  });

  it('says that nothing answers', async () => {
    process.env['PARLEY_URL'] = 'http://127.0.0.1:1';

    expect(await run('bot', 'leftovers', 'b')).toEqual({
      status: 1,
      output: expect.stringContaining('Nothing answers at http://127.0.0.1:1: start Parley first'),
    });
  });

  it.each([
    ['there is nothing', '/nowhere', 'There is no credentials.json in /nowhere: start Parley here once'],
    ['there is no folder', '/dev/null', 'credentials.json in /dev/null cannot be read: ENOTDIR'],
  ])('says what it misses where %s', async (_what, folder, message) => {
    delete process.env['PARLEY_URL'];
    process.env['PARLEY_DATA_DIR'] = folder;

    expect(await run('bot', 'leftovers', 'b')).toEqual({ status: 1, output: expect.stringContaining(message) });
  });
});
