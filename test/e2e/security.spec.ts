import { existsSync, readFileSync } from 'node:fs';

it('names only existing tests in SECURITY.md, and at least one for each risk', () => {
  const text = readFileSync('SECURITY.md', 'utf8');

  const named = [...text.matchAll(/`((?:apps|libs|deploy)\/[^`]+)`/g)].map(([, path]) => path!);
  const risks = text.split('\n').filter((line) => /^\| API\d+ /.test(line));

  expect(named.filter((path) => !existsSync(path))).toEqual([]);
  expect(risks).toHaveLength(10);
  expect(risks.filter((line) => !/\.spec\.ts`/.test(line))).toEqual([]);
});
