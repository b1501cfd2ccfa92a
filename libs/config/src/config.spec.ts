import { choice, ConfigError, Env, integer, readConfig, text, url } from './config';

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

it('keeps defaults and reads what is set, in the class and its parents', () => {
  expect(readConfig(Example, { DATABASE_URL, PORT: '80' })).toEqual({
    port: 80,
    databaseUrl: DATABASE_URL,
    mode: 'safe',
  });
});

it('names every missing and wrong variable at once, and what would be right', () => {
  const read = () => readConfig(Example, { PORT: '0x10', MODE: 'slow' });

  expect(read).toThrow(ConfigError);
  expect(read).toThrow(/PORT must be an integer from 1 to 65535/);
  expect(read).toThrow(/DATABASE_URL is missing: it must be a URL that begins with postgres:\/\//);
  expect(read).toThrow(/MODE must be one of: fast, safe/);
});

it('takes an empty variable for an absent one', () => {
  expect(readConfig(Example, { DATABASE_URL, PORT: '' }).port).toBe(3000);
});
