import { Anchor, Button, Group, Table, Text } from '@mantine/core';
import type { Bot } from '@botpress/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { clientOf } from '../api/client';
import { pathOf, request } from '../api/request';
import { useCan } from '../api/role';
import { ActionButton, ConfirmButton, FormButton } from '../parts/change-buttons';
import { Detail } from '../parts/detail';
import { Empty } from '../parts/empty';
import { Facts } from '../parts/facts';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { safeUrl } from '../parts/safe-url';
import { Section } from '../parts/section';
import { Status } from '../parts/status';
import { ConfigurationFields, configurationIn } from './configuration-fields';
import { InstallIntegration } from './install-integration';
import { botKey, type BotParams, linkQuery } from './queries';

type Installation = Bot['integrations'][string];

interface Props {
  params: BotParams;
  alias: string;
  installation: Installation;
}

export function Integrations({ params, bot }: { params: BotParams; bot: Bot }) {
  const canWrite = useCan(params.workspaceId, 'write');
  const installed = Object.entries(bot.integrations);
  const [shown, setShown] = useState<string>();
  return (
    <Section title="Integrations" aside={canWrite && <InstallIntegration params={params} />}>
      {installed.length === 0 ? (
        <Empty title="No integrations">Users reach a bot through an integration, such as the built-in chat.</Empty>
      ) : (
        <Rows label="Integrations" columns={['Alias', 'Integration', 'Enabled', 'Status', 'Actions']}>
          {installed.map(([alias, installation]) => (
            <Table.Tr key={alias}>
              <Table.Td>{alias}</Table.Td>
              <Table.Td>
                {installation.name} {installation.version}
              </Table.Td>
              <Table.Td>{installation.enabled ? 'yes' : 'no'}</Table.Td>
              <Table.Td>
                <Status value={installation.status} />
                {installation.statusReason && <Text size="sm">{installation.statusReason}</Text>}
              </Table.Td>
              <Table.Td>
                <Group gap={4}>
                  <Button
                    size="compact-sm"
                    variant="default"
                    aria-label={`Show ${alias}`}
                    onClick={() => setShown(alias)}
                  >
                    Show
                  </Button>
                  {canWrite && <Changes params={params} alias={alias} installation={installation} />}
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      )}
      <Detail title={shown} onClose={() => setShown(undefined)}>
        {shown !== undefined && bot.integrations[shown] && (
          <Installed params={params} alias={shown} installation={bot.integrations[shown]} />
        )}
      </Detail>
    </Section>
  );
}

/** Addresses of an installation. */
function Installed({ params, alias, installation }: Props) {
  const query = useQuery(linkQuery(params, alias));
  const { webhookUrl, webhookId } = installation;
  return (
    <Loaded query={query}>
      {({ link, problem }) => (
        <Facts
          label={`Installation ${alias}`}
          facts={[
            ['Webhook', webhookUrl],
            ['Webhook id', webhookId],
            ['Link', <ConnectionLink key="link" link={link} problem={problem} />],
          ]}
        />
      )}
    </Loaded>
  );
}

/** Link of the script of the integration, which may be any text. */
function ConnectionLink({ link, problem }: { link: string | null; problem: string | null }) {
  if (link === null) return problem ?? 'This integration needs no link.';
  const href = safeUrl(link);
  if (href === undefined) return link;
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer">
      Connect an account
    </Anchor>
  );
}

function Changes({ params, alias, installation }: Props) {
  const queries = useQueryClient();
  const { workspaceId, botId } = params;
  const { id: integrationId, enabled, configurationType, configuration } = installation;
  const change = (value: Parameters<ReturnType<typeof clientOf>['updateBot']>[0]['integrations']) =>
    clientOf(params).updateBot({ id: botId, integrations: value });
  const configure = async (values: FormData) =>
    change({ [alias]: { integrationId, ...(await configurationIn(queries, { workspaceId, integrationId }, values)) } });
  const changes = botKey(params);
  return (
    <>
      <FormButton
        label="Configure"
        aria-label={`Configure ${alias}`}
        title={`Configuration of ${alias}`}
        submitLabel="Save"
        changes={changes}
        submit={configure}
      >
        <ConfigurationFields
          workspaceId={workspaceId}
          integrationId={integrationId}
          type={configurationType}
          value={configuration}
        />
      </FormButton>
      <ActionButton
        label={enabled ? 'Disable' : 'Enable'}
        aria-label={`${enabled ? 'Disable' : 'Enable'} ${alias}`}
        changes={changes}
        run={() => change({ [alias]: { integrationId, enabled: !enabled } })}
      />
      {enabled && (
        <ActionButton
          label="Register again"
          aria-label={`Register again ${alias}`}
          changes={changes}
          run={() =>
            request({
              workspaceId,
              method: 'POST',
              path: pathOf`/v1/admin/bots/${botId}/integrations/${alias}/register`,
              body: {},
            })
          }
        />
      )}
      <ConfirmButton
        label="Remove"
        aria-label={`Remove ${alias}`}
        question={`Remove "${alias}"?`}
        confirmLabel="Remove the integration"
        changes={changes}
        run={() => change({ [alias]: null })}
      >
        Its users cannot reach the bot through it any more. Its webhook address is lost.
      </ConfirmButton>
    </>
  );
}
