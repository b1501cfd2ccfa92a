import { Env, text } from './config';
import { droppedVariables } from './dropped-variables';
import { warningsAboutUnknown } from './unknown-variables';

/** Decorators register the variables. */
export class Example {
  @Env({ env: 'NATS_KEY_FILE', type: text(), about: 'A key.' })
  keyFile = '';

  @Env({ env: 'DATABASE_URL', type: text(), about: 'The database.' })
  databaseUrl = '';

  @Env({ env: 'PARLEY_EXAMPLE', type: text(), about: 'An example.' })
  example = '';

  @Env({ env: 'PORT', type: text(), about: 'A short name.' })
  port = '';
}

it.each([
  ['PARLEY_DATADIR', 'PARLEY_DATA_DIR'],
  ['PARLEY_SECRETKEY', 'PARLEY_SECRET_KEY'],
  ['PARLEY_BOOTSTRAP_MAIL', 'PARLEY_BOOTSTRAP_EMAIL'],
  ['PARLEY_EXAMPEL', 'PARLEY_EXAMPLE'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['DATABSAE_URL', 'DATABASE_URL'],
])('names the known variable that is nearest to %s', (unknown, nearest) => {
  expect(warningsAboutUnknown({ [unknown]: 'x' })).toEqual([
    expect.stringMatching(`^${unknown} is not a variable of Parley and has no effect\\. Did you mean ${nearest}\\?$`),
  ]);
});

it.each(Object.entries(droppedVariables))('says what replaces the dropped variable %s', (name, replacement) => {
  expect(warningsAboutUnknown({ [name]: 'x' })).toEqual([`${name} no longer exists and has no effect. ${replacement}`]);
});

it.each([
  'DATABASE_URL',
  'PARLEY_DATA_DIR',
  'PARLEY_EXAMPLE',
  // Read by the CLI and by tests.
  'PARLEY_URL',
  'PARLEY_REQUIRE_HELM',
  // Read by Compose.
  'PARLEY_ADDRESS',
  'NATS_KEY_FILES',
  // Links that Kubernetes sets for services of the namespace.
  'PARLEY_GATEWAY_SERVICE_HOST',
  'PARLEY_GATEWAY_SERVICE_PORT_HTTP',
  'PARLEY_GATEWAY_PORT',
  'PARLEY_GATEWAY_PORT_3000_TCP_ADDR',
  // Read by other programs.
  'SORT',
  'TEST_DATABASE_URL',
  'HOME',
])('does not warn about %s', (name) => {
  expect(warningsAboutUnknown({ [name]: 'x' })).toEqual([]);
});

it('does not warn about an empty variable, which counts as absent', () => {
  expect(warningsAboutUnknown({ PARLEY_DATADIR: '', BLOBS: '' })).toEqual([]);
});
