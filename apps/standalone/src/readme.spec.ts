import { readFileSync, writeFileSync } from 'node:fs';
import { NatsConfig } from '@parley/service/config';
import { configurationTable, type DocumentedConfig } from '@parley/testing/configuration-table';
import { AdminConfig } from '../../admin/src/config';
import { ChatConfig } from '../../chat/src/config';
import { FilesConfig } from '../../files/src/config';
import { FilesWorkerConfig } from '../../files-worker/src/config';
import { GatewayConfig } from '../../gateway/src/config';
import { HubConfig } from '../../hub/src/config';
import { TablesConfig } from '../../tables/src/config';
import { StandaloneConfig } from './config';

const configs: DocumentedConfig[] = [
  { app: 'gateway', type: GatewayConfig },
  { app: 'admin', type: AdminConfig },
  { app: 'hub', type: HubConfig },
  { app: 'files', type: FilesConfig },
  { app: 'files-worker', type: FilesWorkerConfig },
  { app: 'tables', type: TablesConfig },
  { app: 'chat', type: ChatConfig },
  { app: 'every distributed app', type: NatsConfig },
  { app: 'standalone', type: StandaloneConfig },
];
const section = /(<!-- configuration -->\n)[\s\S]*(\n<!-- end of configuration -->)/;

it('documents the configuration as the code reads it (UPDATE_README=1 npm test -- readme writes it)', () => {
  const readme = readFileSync('README.md', 'utf8');
  expect(readme).toMatch(section);
  const right = readme.replace(
    section,
    (_match, begin: string, end: string) => `${begin}\n${configurationTable(configs)}\n${end}`,
  );

  if (process.env['UPDATE_README'] === '1') writeFileSync('README.md', right);
  else expect(normalise(readme)).toBe(normalise(right));
});

/** Formatting pads the columns of tables. */
function normalise(markdown: string): string {
  return markdown.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
}
