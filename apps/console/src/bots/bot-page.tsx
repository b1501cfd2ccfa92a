import { Table } from '@mantine/core';
import type { Bot } from '@botpress/client';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { botQuery } from '../api/queries';
import { useCan } from '../api/role';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { ApiKeys } from './api-keys';
import { Integrations } from './integrations';
import { Secrets } from './secrets';
import { Settings } from './settings';
import { Versions } from './versions';

export function BotPage() {
  const params = useParams({ from: '/w/$workspaceId/bots/$botId' });
  const query = useQuery(botQuery(params.workspaceId, params.botId));
  const canManage = useCan(params.workspaceId, 'manage');
  return (
    <Page title={query.data?.name || 'Bot'}>
      <Loaded query={query}>
        {(bot) => (
          <>
            <Settings params={params} bot={bot} />
            <Integrations params={params} bot={bot} />
            <Plugins bot={bot} />
            <Versions params={params} />
            <Secrets params={params} bot={bot} />
            {canManage && <ApiKeys params={params} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Plugins({ bot }: { bot: Bot }) {
  const installed = Object.entries(bot.plugins);
  return (
    <Section title="Plugins">
      {installed.length === 0 ? (
        <Empty title="No plugins">
          Plugins come with the code of the bot: add one in its definition and deploy it.
        </Empty>
      ) : (
        <Rows label="Plugins" columns={['Alias', 'Plugin', 'Enabled']}>
          {installed.map(([alias, { name, version, enabled }]) => (
            <Table.Tr key={alias}>
              <Table.Td>{alias}</Table.Td>
              <Table.Td>
                {name} {version}
              </Table.Td>
              <Table.Td>{enabled ? 'yes' : 'no'}</Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      )}
    </Section>
  );
}
