import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { apps } from './configurations';

const dockerfile = readFileSync('Dockerfile', 'utf8');
const lines = dockerfile.replaceAll(/\\\n\s*/g, '').split('\n');
const instructions = (name: string) =>
  lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

it('starts from an exact version of Node', () => {
  expect(instructions('ARG')[0]).toMatch(/^NODE_IMAGE=node:22\.\d+\.\d+-\w+-slim$/);
  expect(instructions('FROM').filter((from) => !/^(\$\{NODE_IMAGE\}|packages)( AS \w+)?$/.test(from))).toEqual([]);
});

it('installs what the lock file says, and nothing else', () => {
  const installs = instructions('RUN').filter((command) => /npm (ci|i|install)\b/.test(command));

  expect(installs).not.toEqual([]);
  expect(installs.join('\n')).not.toMatch(/npm (i|install)\b/);
  expect(dockerfile).toContain('COPY package.json package-lock.json .npmrc ./');
});

it('leaves development packages and sources out of the image', () => {
  const image = lines.slice(lines.lastIndexOf('FROM ${NODE_IMAGE}'));
  const copied = image.filter((line) => line.startsWith('COPY '));

  expect(copied).toEqual([
    'COPY --from=modules /app/node_modules node_modules',
    'COPY --from=build /app/dist dist',
    'COPY package.json LICENSE ./',
  ]);
  const modules = instructions('RUN').find((command) => command.includes('case'));
  expect(modules!.match(/npm ci/g)).toHaveLength(modules!.match(/--omit=dev/g)!.length);
});

it('runs as a user by number that is not root', () => {
  expect(instructions('USER')).toEqual(['1000:1000']);
});

it('can be built for every app, and says so when there is none of that name', () => {
  const all = readdirSync('apps').filter((app) => existsSync(`apps/${app}/src/main.ts`));

  expect(all).toEqual(expect.arrayContaining([...apps, 'cli', 'standalone']));
  expect(all).toEqual(readdirSync('apps'));
  expect(instructions('RUN').at(-1)).toMatch(/^test -f "dist\/apps\/\$\{APP\}\/src\/main\.js" && /);
});

it('sends Docker nothing but what the build reads', () => {
  const [first, ...rules] = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  const sent = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));

  expect(first).toBe('*');
  expect(sent.filter((path) => !existsSync(path))).toEqual([]);
  expect(sent.filter((path) => path.startsWith('.') && !['.npmrc', '.swcrc'].includes(path))).toEqual([]);
});
