import {
  choice,
  ConfigError,
  Env,
  fraction,
  integer,
  readConfig,
  readConfigs,
  Rejected,
  text,
  url,
  variablesOf,
  type VariableType,
} from './config';

class Base {
  @Env({ env: 'PORT', type: integer(1, 65_535), about: 'Where HTTP listens.' })
  port = 3000;
}

class Example extends Base {
  @Env({ env: 'DATABASE_URL', type: url('postgres', 'postgresql'), about: 'The database.' })
  databaseUrl!: string;

  @Env({ env: 'MODE', type: choice('fast', 'safe'), about: 'How.' })
  mode: 'fast' | 'safe' = 'safe';

  @Env({ env: 'NICKNAME', type: text(), about: 'A name.', optional: true })
  nickname?: string;
}

const DATABASE_URL = 'postgres://127.0.0.1/x';

it('keeps defaults and reads variables of the class and its parents', () => {
  expect(readConfig(Example, { DATABASE_URL, PORT: '80' })).toEqual({
    port: 80,
    databaseUrl: DATABASE_URL,
    mode: 'safe',
  });
});

it('reports every missing and invalid variable at once, with the accepted values', () => {
  const read = () => readConfig(Example, { PORT: '0x10', MODE: 'slow' });

  expect(read).toThrow(ConfigError);
  expect(read).toThrow(/PORT must be an integer from 1 to 65535/);
  expect(read).toThrow(/DATABASE_URL is missing: it must be a URL that begins with postgres:\/\//);
  expect(read).toThrow(/MODE must be one of: fast, safe/);
});

it('reports a problem of several configurations once', () => {
  class Other extends Base {
    @Env({ env: 'NUMBER', type: integer(0, 9), about: 'A number.' })
    number!: number;
  }
  const read = () => readConfigs({ example: Example, other: Other }, { DATABASE_URL, PORT: '0x10' });

  expect(read).toThrow(
    new ConfigError([
      'PORT must be an integer from 1 to 65535.',
      'NUMBER is missing: it must be an integer from 0 to 9. A number.',
    ]),
  );
});

it('reads the alias of a variable first, unless it is empty', () => {
  class Proxied {
    @Env({ env: 'HTTP_PROXY', alias: 'http_proxy', type: text(), about: 'A proxy.', optional: true })
    proxy?: string;
  }
  const read = (env: NodeJS.ProcessEnv) => readConfig(Proxied, env).proxy;

  expect(read({ HTTP_PROXY: 'upper', http_proxy: 'lower' })).toBe('lower');
  expect(read({ HTTP_PROXY: 'upper', http_proxy: '' })).toBe('upper');
});

it('treats an empty variable as absent', () => {
  expect(readConfig(Example, { DATABASE_URL, PORT: '' }).port).toBe(3000);
});

it('leaves an absent optional variable undefined', () => {
  expect(readConfig(Example, { DATABASE_URL }).nickname).toBeUndefined();
  expect(readConfig(Example, { DATABASE_URL, NICKNAME: 'Joe' }).nickname).toBe('Joe');
});

it('lists the variables of a class and its parents, without those of subclasses', () => {
  expect(variablesOf(Example).map(({ env }) => env)).toEqual(['PORT', 'DATABASE_URL', 'MODE', 'NICKNAME']);
  expect(variablesOf(Base).map(({ env }) => env)).toEqual(['PORT']);
});

it.each<[string, VariableType, string, unknown]>([
  ['an integer', integer(0, 10), '0', 0],
  ['an integer', integer(0, 10), '10', 10],
  ['a fraction', fraction, '0.01', 0.01],
  ['a fraction', fraction, '1', 1],
  ['a URL without its last slashes', url('http', 'https'), 'https://a.example/b//', 'https://a.example/b'],
  ['a choice', choice('a', 'b'), 'b', 'b'],
  ['a text that fits', text('digits', /^\d+$/), '12', '12'],
])('reads the variable %s', (_name, type, given, value) => {
  expect(type.read(given)).toBe(value);
});

it.each<[string, VariableType, string]>([
  ['an integer that is too large', integer(0, 10), '11'],
  ['a negative integer', integer(0, 10), '-1'],
  ['a fraction', integer(0, 10), '1.5'],
  ['an integer with a space', integer(0, 10), ' 1'],
  ['an exponent', integer(0, 10), '1e0'],
  ['a fraction that is too large', fraction, '1.01'],
  ['a fraction that is a word', fraction, 'half'],
  ['another protocol', url('http', 'https'), 'ftp://a.example'],
  ['no URL', url('http'), 'a.example'],
  ['no choice', choice('a', 'b'), 'c'],
  ['a choice in another case', choice('a', 'b'), 'A'],
  ['a text that does not fit', text('digits', /^\d+$/), 'x'],
])('rejects the variable %s', (_name, type, given) => {
  expect(type.read(given)).toBeInstanceOf(Rejected);
});

it.each([
  ['BLOBS', 'folder', 'S3_BUCKET'],
  ['PASSAGE_INDEX', 'local', 'QDRANT_URL'],
])('refuses %s=%s with %s, which would move stored data out of sight', (name, value, decides) => {
  class Empty {}
  const read = (env: NodeJS.ProcessEnv) => readConfig(Empty, env);

  expect(() => read({ [name]: value, [decides]: 'x' })).toThrow(`Unset ${decides} to keep data where it is`);
  expect(() => read({ [name]: value })).not.toThrow();
  expect(() => read({ [decides]: 'x' })).not.toThrow();
});
