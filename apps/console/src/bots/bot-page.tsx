import { Code, Stack, Table, Text, Title } from '@mantine/core';
import type { Bot } from '@botpress/client';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { botQuery } from '../api/queries';
import { useCan } from '../api/role';
import { Empty } from '../parts/empty';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { apiKeysQuery, versionsQuery } from './queries';

export function BotPage() {
  const { workspaceId, botId } = useParams({ from: '/w/$workspaceId/bots/$botId' });
  const query = useQuery(botQuery(workspaceId, botId));
  const canManage = useCan(workspaceId, 'manage');
  return (
    <Page title={query.data?.name || 'Bot'}>
      <Loaded query={query}>
        {(bot) => (
          <>
            <Settings bot={bot} />
            <Integrations bot={bot} />
            <Plugins bot={bot} />
            <Versions workspaceId={workspaceId} botId={botId} />
            {canManage && <ApiKeys workspaceId={workspaceId} botId={botId} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

function Settings({ bot }: { bot: Bot }) {
  const rows: [string, ReactNode][] = [
    ['Id', <Code key="id">{bot.id}</Code>],
    ['Created', <Time key="created" at={bot.createdAt} />],
    ['Changed', <Time key="changed" at={bot.updatedAt} />],
    ...Object.entries(bot.tags).map(([name, value]): [string, ReactNode] => [`Tag ${name}`, value]),
  ];
  return (
    <Section title="Settings">
      <Table aria-label="Settings" variant="vertical" layout="fixed">
        <Table.Tbody>
          {rows.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w={140}>{name}</Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" fw={500}>
        Configuration
      </Text>
      <Json label="Configuration" value={bot.configuration.data} />
    </Section>
  );
}

function Integrations({ bot }: { bot: Bot }) {
  const installed = Object.entries(bot.integrations);
  return (
    <Section title="Integrations">
      {installed.length === 0 && <Empty title="No integrations">Install one with the CLI or with updateBot.</Empty>}
      {installed.length > 0 && (
        <Rows label="Integrations" columns={['Alias', 'Integration', 'Enabled', 'Status', 'Reason']}>
          {installed.map(([alias, { name, version, enabled, status, statusReason }]) => (
            <Table.Tr key={alias}>
              <Table.Td>{alias}</Table.Td>
              <Table.Td>
                {name} {version}
              </Table.Td>
              <Table.Td>{enabled ? 'yes' : 'no'}</Table.Td>
              <Table.Td>
                <Status value={status} />
              </Table.Td>
              <Table.Td>{statusReason}</Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      )}
    </Section>
  );
}

function Plugins({ bot }: { bot: Bot }) {
  const installed = Object.entries(bot.plugins);
  return (
    <Section title="Plugins">
      {installed.length === 0 && <Empty title="No plugins" />}
      {installed.length > 0 && (
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

function Versions(params: { workspaceId: string; botId: string }) {
  const query = useQuery(versionsQuery(params.workspaceId, params.botId));
  return (
    <Section title="Versions">
      <Loaded query={query}>
        {(versions) =>
          versions.length === 0 ? (
            <Empty title="No versions">
              <Code>bp deploy</Code> uploads code.
            </Empty>
          ) : (
            <Rows label="Versions" columns={['Name', 'Description', 'Id']}>
              {versions.map(({ id, name, description }) => (
                <Table.Tr key={id}>
                  <Table.Td>{name}</Table.Td>
                  <Table.Td>{description}</Table.Td>
                  <Table.Td>
                    <Code>{id}</Code>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}

function ApiKeys(params: { workspaceId: string; botId: string }) {
  const query = useQuery(apiKeysQuery(params.workspaceId, params.botId));
  return (
    <Section title="API keys">
      <Loaded query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty title="No API keys" />
          ) : (
            <Rows label="API keys" columns={['Note', 'Id', 'Created']}>
              {keys.map(({ id, note, createdAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>{note || '–'}</Table.Td>
                  <Table.Td>
                    <Code>{id}</Code>
                  </Table.Td>
                  <Table.Td>
                    <Time at={createdAt} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}
