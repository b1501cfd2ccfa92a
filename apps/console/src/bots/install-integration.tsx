import { Select, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { clientOf } from '../api/client';
import { FormButton } from '../parts/change-buttons';
import { textIn } from '../parts/form-text';
import { Loaded } from '../parts/loaded';
import { botKey, type BotParams, integrationsQuery } from './queries';
import { ConfigurationFields, configurationIn } from './configuration-fields';

/** Form that installs an integration under an alias, or another version under the alias of an installed one. */
export function InstallIntegration({ params }: { params: BotParams }) {
  const queries = useQueryClient();
  const install = async (values: FormData) => {
    const integrationId = textIn(values, 'integrationId');
    if (integrationId === '') throw new Error('Choose an integration.');
    const installation = await configurationIn(queries, { workspaceId: params.workspaceId, integrationId }, values);
    await clientOf(params).updateBot({
      id: params.botId,
      integrations: { [textIn(values, 'alias')]: { integrationId, enabled: true, ...installation } },
    });
  };
  return (
    <FormButton
      label="Install an integration"
      title="Install an integration"
      submitLabel="Install"
      changes={botKey(params)}
      submit={install}
    >
      <InstallFields workspaceId={params.workspaceId} />
    </FormButton>
  );
}

function InstallFields({ workspaceId }: { workspaceId: string }) {
  const query = useQuery(integrationsQuery(workspaceId));
  const [id, setId] = useState<string | null>(null);
  const [alias, setAlias] = useState('');
  return (
    <Loaded query={query}>
      {(integrations) => (
        <>
          <Select
            name="integrationId"
            label="Integration"
            description="Those of this workspace, and public ones"
            placeholder="Choose an integration"
            nothingFoundMessage="No integration has this name"
            data={integrations.map((each) => ({ value: each.id, label: `${each.name} ${each.version}` }))}
            value={id}
            onChange={(chosen) => {
              setId(chosen);
              const name = integrations.find((each) => each.id === chosen)?.name;
              setAlias(name?.split('/').at(-1) ?? '');
            }}
            searchable
            required
          />
          <TextInput
            name="alias"
            label="Alias"
            description="Name of this installation in the bot, without : and #. An alias in use gets this version instead."
            value={alias}
            onChange={(event) => setAlias(event.currentTarget.value)}
            pattern="[^#:]+"
            maxLength={200}
            autoComplete="off"
            required
          />
          {id !== null && <ConfigurationFields key={id} workspaceId={workspaceId} integrationId={id} />}
        </>
      )}
    </Loaded>
  );
}
