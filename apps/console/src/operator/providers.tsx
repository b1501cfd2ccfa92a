import { Code, Group, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ActionButton, ConfirmButton } from '../parts/change-buttons';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { AddProvider, EditProvider } from './provider-form';
import { ProviderTestButton } from './provider-test';
import { deleteProvider, type Provider, providersKey, providersQuery, reorderProviders } from './queries';

const columns = ['Name', 'Address', 'Key', 'State', 'Models', 'Limits', 'Actions'];

/** Providers of language models. Those of the configuration can be tested only. */
export function Providers() {
  const query = useQuery(providersQuery);
  return (
    <Section
      title="Providers of language models"
      aside={<AddProvider taken={query.data?.map(({ name }) => name) ?? []} />}
    >
      <Text size="sm">
        They are asked in this order. Those of the configuration come last: change them by their variables or their
        file.
      </Text>
      <Loaded query={query}>
        {(providers) => {
          if (providers.length === 0)
            return <Empty title="No providers">Bots have no language model until one is added.</Empty>;
          const names = providers.filter(isOfOperator).map(({ name }) => name);
          return (
            <Rows label="Providers" columns={columns}>
              {providers.map((provider) => (
                <ProviderRow key={provider.name} provider={provider} names={names} />
              ))}
            </Rows>
          );
        }}
      </Loaded>
    </Section>
  );
}

function isOfOperator({ source }: Provider): boolean {
  return source === 'operator';
}

/** @param names of the providers whose order can be changed */
function ProviderRow({ provider, names }: { provider: Provider; names: string[] }) {
  const { name, url, hasKey, state, failingSince, lastError, lastErrorAt, models = [], foundModels } = provider;
  const shown = models.length > 0 ? models.map((model) => model.name) : foundModels;
  return (
    <Table.Tr>
      <Table.Td>
        <Code>{name}</Code>
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{url}</Table.Td>
      <Table.Td>{hasKey ? 'set' : 'none'}</Table.Td>
      <Table.Td>
        <Stack gap={4}>
          <Status value={state} />
          {failingSince && (
            <Text size="sm">
              since <Time at={failingSince} />
            </Text>
          )}
          {lastError && lastErrorAt && (
            <Text size="sm">
              <Time at={lastErrorAt} />: {lastError}
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td>{shown.length === 0 ? 'not known yet' : shown.slice(0, 10).join(', ')}</Table.Td>
      <Table.Td>{limitsOf(provider)}</Table.Td>
      <Table.Td>
        <Group gap={4}>
          <ProviderTestButton name={name} />
          {isOfOperator(provider) ? <Changes provider={provider} names={names} /> : 'set by configuration'}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function Changes({ provider, names }: { provider: Provider; names: string[] }) {
  const { name } = provider;
  const index = names.indexOf(name);
  const moveTo = (other: number) => reorderProviders(names.with(index, names[other]!).with(other, name));
  return (
    <>
      <EditProvider provider={provider} />
      {index > 0 && (
        <ActionButton label="Up" aria-label={`Move ${name} up`} changes={providersKey} run={() => moveTo(index - 1)} />
      )}
      {index < names.length - 1 && (
        <ActionButton
          label="Down"
          aria-label={`Move ${name} down`}
          changes={providersKey}
          run={() => moveTo(index + 1)}
        />
      )}
      <ConfirmButton
        label="Delete"
        aria-label={`Delete ${name}`}
        question={`Delete the provider ${name}?`}
        confirmLabel="Delete the provider"
        changes={providersKey}
        run={() => deleteProvider(name)}
      >
        Its key is deleted as well. Bots then get their answers from the other providers.
      </ConfirmButton>
    </>
  );
}

function limitsOf({ concurrency, rate }: Provider): string {
  return [
    ...(concurrency === undefined ? [] : [`${concurrency} at once`]),
    ...(rate === undefined ? [] : [`${rate} a minute`]),
  ].join(', ');
}
